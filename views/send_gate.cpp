// Places of threads, and the poller's questions.
#include <spindrift/views/send_gate.hpp>

#include <bit>

namespace spindrift::views {
namespace {

std::atomic<std::uint32_t> taken_places{0};  // one bit each

}  // namespace

/// A thread's place at all gates of the process, from its first message to its end.
class SendGate::ThreadPlace {
 public:
  ThreadPlace() noexcept {
    std::uint32_t taken = taken_places.load(std::memory_order_relaxed);
    do {
      place_ = static_cast<std::uint32_t>(std::countr_one(taken));
      if (place_ >= own_places) {
        place_ = shared_place;
        return;
      }
    } while (!taken_places.compare_exchange_weak(taken, taken | 1U << place_, std::memory_order_acquire));
  }
  ~ThreadPlace() {
    if (place_ != shared_place) taken_places.fetch_and(~(1U << place_), std::memory_order_release);
  }
  [[nodiscard]] std::uint32_t place() const noexcept { return place_; }

 private:
  std::uint32_t place_ = 0;
};

std::uint32_t SendGate::own_place() noexcept {
  thread_local const ThreadPlace own;
  return own.place();
}

// A thread inside keeps the view from changing: the two rings that it finds belong together, or the gate was closed between.
SendGate::Outcome SendGate::reserve_large(std::uint64_t bytes, Claim& claim) noexcept {
  if (!is_open()) return Outcome::closed;
  claim.place = own_place();
  come_in(claim.place);
  Outcome outcome = Outcome::closed;
  claim.ring = ring_.load(std::memory_order_seq_cst);
  claim.bulk = bulk_.load(std::memory_order_relaxed);
  if (claim.ring != nullptr && claim.bulk != nullptr && claim.bulk->records() == claim.ring) {
    outcome = Outcome::full;
    if (const auto reservation = claim.bulk->reserve(bytes)) {
      claim.reservation = *reservation;
      return Outcome::reserved;
    }
  }
  go_out(claim.place);
  return outcome;
}

// A thread that looks into a ring is inside: its view may end meanwhile, and the ring with it.
bool SendGate::half_free() noexcept {
  if (!is_open()) return false;
  const std::uint32_t place = own_place();
  come_in(place);
  const smc::SendRing* const ring = ring_.load(std::memory_order_seq_cst);
  const smc::BulkRing* const bulk = bulk_.load(std::memory_order_relaxed);
  const bool free = ring != nullptr && ring->half_free() && (bulk == nullptr || bulk->half_free());
  go_out(place);
  return free;
}

bool SendGate::vacated() const noexcept {
  if (is_open()) return false;
  for (const Inside& inside : inside_) {
    if (inside.claims.load(std::memory_order_acquire) != 0) return false;
  }
  return true;
}

}  // namespace spindrift::views
