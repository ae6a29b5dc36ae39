// Calls to give up the first messages of a subgroup's log at this member, from application threads to the poller, and what
// comes of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

class TrimCalls {
 public:
  /// `call_poller` is called when the poller has something to take. Waits until that has done it. Any thread that runs no
  /// handlers. Errors: as Subgroup::trim_log.
  template <class CallPoller>
  [[nodiscard]] Result<std::uint64_t> trim(SubgroupId id, std::uint64_t below, std::optional<Duration> limit,
                                           const CallPoller& call_poller) {
    const auto call = begin({id, below});
    call_poller();
    return await(call, limit);
  }

  // The poller.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// `give_up(id, below)` does what each call asks for, and returns what is its outcome.
  template <class GiveUp>
  void take(const GiveUp& give_up) {
    const std::lock_guard lock(mutex_);
    any_.store(false, std::memory_order_seq_cst);
    for (Call& call : calls_) {
      if (!call.outcome) call.outcome = give_up(call.subgroup, call.below);
    }
    changed_.notify_all();
  }
  /// This member is in no view any more.
  void on_end(const Error& why);

 private:
  struct Call {
    SubgroupId subgroup;
    std::uint64_t below = 0;
    std::optional<Result<std::uint64_t>> outcome{};
  };

  [[nodiscard]] std::list<Call>::iterator begin(Call call);
  [[nodiscard]] Result<std::uint64_t> await(std::list<Call>::iterator call, std::optional<Duration> limit);

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Behind the mutex:
  std::list<Call> calls_;
  std::optional<Error> end_;
};

}  // namespace spindrift::group
