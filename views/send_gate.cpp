// In, reserve, commit, out.
#include <spindrift/views/send_gate.hpp>

namespace spindrift::views {

std::uint32_t SendGate::own_shard() noexcept {
  static std::atomic<std::uint32_t> next{0};
  thread_local const std::uint32_t shard = next.fetch_add(1, std::memory_order_relaxed) % shards;
  return shard;
}

SendGate::Outcome SendGate::reserve(std::uint64_t bytes, Claim& claim) noexcept {
  if (!is_open()) return Outcome::closed;
  claim.shard = own_shard();
  std::atomic<std::uint64_t>& inside = inside_[claim.shard].threads;
  inside.fetch_add(1, std::memory_order_seq_cst);
  Outcome outcome = Outcome::closed;
  claim.ring = ring_.load(std::memory_order_seq_cst);
  if (claim.ring != nullptr) {
    outcome = Outcome::full;
    if (const auto reservation = claim.ring->reserve(bytes)) {
      claim.reservation = *reservation;
      return Outcome::reserved;
    }
  }
  inside.fetch_sub(1, std::memory_order_seq_cst);
  return outcome;
}

void SendGate::commit(const Claim& claim) noexcept {
  claim.ring->commit(claim.reservation);
  inside_[claim.shard].threads.fetch_sub(1, std::memory_order_seq_cst);
}

void SendGate::abandon(const Claim& claim) noexcept {
  claim.ring->abandon(claim.reservation);
  inside_[claim.shard].threads.fetch_sub(1, std::memory_order_seq_cst);
}

bool SendGate::half_free() const noexcept {
  const smc::SendRing* const ring = ring_.load(std::memory_order_seq_cst);
  return ring != nullptr && ring->half_free();
}

bool SendGate::vacated() const noexcept {
  if (is_open()) return false;
  for (const Inside& inside : inside_) {
    if (inside.threads.load(std::memory_order_seq_cst) != 0) return false;
  }
  return true;
}

}  // namespace spindrift::views
