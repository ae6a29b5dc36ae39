// Sleeps and wakes by futex: the standard's waiting on an atomic knows no limit of time.
#include <spindrift/core/event_count.hpp>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace spindrift {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) && std::atomic<std::uint32_t>::is_always_lock_free,
              "the kernel reads the atomic as the number that it holds");

/// The limit is absolute, so a signal on the way costs nothing.
int sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t expected, const timespec* limit) noexcept {
  constexpr auto any = FUTEX_BITSET_MATCH_ANY;
  return ::syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, limit, nullptr, any) == 0 ? 0 : errno;
}

timespec timespec_of(Time at) noexcept {
  constexpr Duration::rep second = 1'000'000'000;
  const Duration::rep ns = at.time_since_epoch().count();
  return {.tv_sec = static_cast<std::time_t>(ns / second), .tv_nsec = static_cast<long>(ns % second)};
}

}  // namespace

bool EventCount::wait_until(Ticket ticket, Time limit) noexcept {
  const timespec until = timespec_of(limit);
  bool notified = epoch_.load(std::memory_order_seq_cst) != ticket;
  while (!notified) {
    const int failure = sleep_on(epoch_, ticket, limit == never ? nullptr : &until);
    notified = epoch_.load(std::memory_order_seq_cst) != ticket;
    if (failure == ETIMEDOUT) break;
  }
  cancel();
  return notified;
}

void EventCount::wake(int threads) noexcept {
  epoch_.fetch_add(1, std::memory_order_seq_cst);
  static_cast<void>(::syscall(SYS_futex, &epoch_, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0));
}

}  // namespace spindrift
