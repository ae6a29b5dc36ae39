// Lets threads sleep until something that they test themselves may have changed, at the cost of one load for the thread that
// changes it while nobody sleeps.
//
//   waiter: ticket = prepare(); if (test again) cancel(); else wait_until(ticket, limit);
//   waker:  change; notify_all(), or notify_one();
//
// The test and the change must be sequentially consistent atomics; then either the waiter sees the change or the waker sees
// the waiter.
#pragma once

#include <atomic>
#include <cstdint>

#include <spindrift/core/clock.hpp>

namespace spindrift {

class EventCount {
 public:
  using Ticket = std::uint32_t;

  [[nodiscard]] Ticket prepare() noexcept {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    return epoch_.load(std::memory_order_seq_cst);
  }
  void cancel() noexcept { waiters_.fetch_sub(1, std::memory_order_relaxed); }
  /// Sleeps until that time, by the monotonic clock, or `never`. False: it is over, and nobody was notified since `prepare`.
  [[nodiscard]] bool wait_until(Ticket ticket, Time limit) noexcept;

  [[nodiscard]] bool has_waiters() const noexcept { return waiters_.load(std::memory_order_seq_cst) != 0; }
  void notify_all() noexcept {
    if (has_waiters()) wake(all);
  }
  /// Wakes the thread that has slept longest, and any that prepared and does not sleep yet.
  void notify_one() noexcept {
    if (has_waiters()) wake(1);
  }

 private:
  static constexpr int all = 0x7fffffff;
  void wake(int threads) noexcept;

  std::atomic<std::uint32_t> epoch_{0};
  std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace spindrift
