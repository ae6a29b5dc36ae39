// Application threads that found a ring full wait here. One of them has the turn: it is woken when there is space, and the
// others sleep until its turn is over. So all of them together send what one alone would, instead of waking each other
// for a few messages each.
//
// The invariant to remember: while threads wait behind, somebody has the turn or was offered it, and a turn ends by time, at
// the latest when the poller next looks. A thread that does not come back holds up the others no longer than that.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/event_count.hpp>

namespace spindrift::group {

class SpaceQueue {
 public:
  /// How long a thread may fill the ring again and again while others wait. Long beside a wake-up, short beside what a
  /// person notices.
  static constexpr Duration turn_length = std::chrono::microseconds(500);

  struct Ticket {
    EventCount* where;
    EventCount::Ticket ticket;
  };

  // Application threads: `prepare`, try again, then `wait`, or `cancel` if there was space; see EventCount.

  /// Whether this thread may rather offer its CPU and try again a few times: nobody waits, or it has the turn.
  [[nodiscard]] bool may_try_again(Time now) const noexcept {
    return !has_waiters() || (holder_.load(std::memory_order_seq_cst) == this_thread() && now < turn_ends());
  }

  [[nodiscard]] Ticket prepare(Time now) noexcept {
    EventCount& where = stands_in_front(now) ? front_ : behind_;
    return {&where, where.prepare()};
  }
  void cancel(Ticket ticket) noexcept { ticket.where->cancel(); }
  /// False: it is that time, and nothing has been offered since `prepare`.
  bool wait(Ticket ticket, Time limit = never) noexcept { return ticket.where->wait_until(ticket.ticket, limit); }

  // The poller.

  [[nodiscard]] bool has_waiters() const noexcept { return front_.has_waiters() || behind_.has_waiters(); }
  /// There is space worth waking a thread for. Wakes who has the turn, if it waits; or, if its turn is over, the thread that
  /// has waited longest behind.
  void offer(Time now) noexcept {
    if (front_.has_waiters()) return front_.notify_all();
    if (!behind_.has_waiters() || now < turn_ends()) return;
    hand_on(now);
  }
  /// When to offer again although no space became free since. Never: nobody waits, or who has the turn does.
  [[nodiscard]] Time next_offer() const noexcept {
    return behind_.has_waiters() && !front_.has_waiters() ? turn_ends() : never;
  }
  /// The space that the threads wait for may never come: all of them look what is the matter.
  void let_all_go() noexcept {
    front_.notify_all();
    behind_.notify_all();
  }

 private:
  // The thread that has the turn, named by the address of something of its own.
  using Holder = std::uintptr_t;
  static constexpr Holder nobody = 0;
  static constexpr Holder offered = 1;  ///< the next thread that finds space, or none, has it

  [[nodiscard]] static Holder this_thread() noexcept {
    thread_local const char own = 0;
    return reinterpret_cast<Holder>(&own);
  }
  [[nodiscard]] Time turn_ends() const noexcept { return Time(Duration(turn_ends_.load(std::memory_order_seq_cst))); }

  bool take(Holder from, Time now) noexcept {
    if (!holder_.compare_exchange_strong(from, this_thread(), std::memory_order_seq_cst)) return false;
    turn_ends_.store((now + turn_length).time_since_epoch().count(), std::memory_order_seq_cst);
    return true;
  }
  void hand_on(Time now) noexcept {
    last_holder_.store(holder_.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
    turn_ends_.store((now + turn_length).time_since_epoch().count(), std::memory_order_seq_cst);
    holder_.store(offered, std::memory_order_seq_cst);
    behind_.notify_one();
  }
  [[nodiscard]] bool stands_in_front(Time now) noexcept {
    if (holder_.load(std::memory_order_seq_cst) != this_thread()) {
      // A thread whose turn ended while it ran does not take the turn from the one that it was offered to, which may only be
      // waking up.
      const bool had_it = last_holder_.load(std::memory_order_seq_cst) == this_thread();
      return (!had_it && take(offered, now)) || take(nobody, now);
    }
    if (now < turn_ends() || !behind_.has_waiters()) return true;
    hand_on(now);
    return false;
  }

  EventCount front_;   // the thread that has the turn
  EventCount behind_;  // the others
  std::atomic<Holder> holder_{nobody};
  std::atomic<Holder> last_holder_{nobody};  // before it was offered to the next
  std::atomic<Duration::rep> turn_ends_{0};
};

}  // namespace spindrift::group
