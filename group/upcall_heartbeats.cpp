// The word that poller and thread hand to each other, and the thread's turns.
#include <spindrift/group/upcall_heartbeats.hpp>

#include <utility>

#include <spindrift/core/asymmetric_barrier.hpp>
#include <spindrift/core/limits.hpp>

namespace spindrift::group {

Duration handler_stuck_after(const Config& config) {
  return std::chrono::milliseconds(config.integer("SPINDRIFT", "handler_stuck_after_ms"));
}

UpcallHeartbeats::~UpcallHeartbeats() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ends_.notify_one();
  thread_.join();
}

Result<void> UpcallHeartbeats::start() {
  if (patience_ == Duration{}) return {};
  SPINDRIFT_TRY_ASSIGN(thread_, start_thread([this] { run(); }));
  return {};
}

void UpcallHeartbeats::run() {
  std::uint64_t before = 0;
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, patience_ / 8, [this] { return ending_; })) {
    lock.unlock();
    on_turn(clock_.now());
    lock.lock();
    const std::uint64_t word = word_.load(std::memory_order_relaxed);
    const bool quiet = word == before && word == word_of(word >> holder_bits, Holder::protocol);
    before = word;
    if (quiet) rest(lock, word);
  }
}

// No upcall came since the last turn. Of the poller, which enters one and then looks whether the thread rests, and of the
// thread, which says so and then looks for an upcall, one sees the other.
void UpcallHeartbeats::rest(std::unique_lock<std::mutex>& lock, std::uint64_t since) {
  resting_.store(true, std::memory_order_relaxed);
  heavy_barrier();
  if (word_.load(std::memory_order_acquire) != since) return resting_.store(false, std::memory_order_relaxed);
  ends_.wait(lock, [this] { return ending_ || !resting_.load(std::memory_order_relaxed); });
}

void UpcallHeartbeats::end_rest() noexcept {
  {
    const std::lock_guard lock(mutex_);
    resting_.store(false, std::memory_order_relaxed);
  }
  ends_.notify_one();
}

void UpcallHeartbeats::enter(Whose whose) noexcept {
  whose_ = whose;
  word_.store(word_of(++upcall_, Holder::application), std::memory_order_release);
  light_barrier();
  if (resting_.load(std::memory_order_relaxed)) end_rest();
}

void UpcallHeartbeats::leave() noexcept {
  const std::uint64_t ours = word_of(upcall_, Holder::application);
  const std::uint64_t back = word_of(upcall_, Holder::protocol);
  for (std::uint64_t found = ours; !word_.compare_exchange_strong(found, back, std::memory_order_acq_rel);
       found = ours) {
    word_.wait(found, std::memory_order_acquire);
  }
}

// An upcall that two turns have seen has lasted; to the first it may be one of many short ones.
void UpcallHeartbeats::on_turn(Time now) {
  std::uint64_t word = word_.load(std::memory_order_acquire);
  const bool at_work = word == word_of(word >> holder_bits, Holder::application);
  if (!at_work || !seen_ || seen_->word != word) {
    seen_.reset();
    if (at_work) seen_ = {word, now, now + report_after};
    return;
  }
  const std::uint64_t ours = word_of(word >> holder_bits, Holder::heartbeat);
  if (!word_.compare_exchange_strong(word, ours, std::memory_order_acq_rel)) return;  // it has returned just now
  const Duration lasted = now - seen_->since;
  if (stuck_after_ != Duration{} && lasted >= stuck_after_) give_up(lasted);
  else cover(lasted, now);
  word_.store(seen_->word, std::memory_order_release);
  word_.notify_one();
}

void UpcallHeartbeats::cover(Duration lasted, Time now) {
  duties_.show_life(whose_);
  if (now < seen_->next_report) return;
  seen_->next_report = now + report_interval;
  duties_.report(whose_, lasted);
}

// It may never return: so it is said here, once, and not by the poller alone.
void UpcallHeartbeats::give_up(Duration lasted) {
  if (stuck_) return;
  stuck_ = {whose_, lasted};
  duties_.give_up(*stuck_);
}

}  // namespace spindrift::group
