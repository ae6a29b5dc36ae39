// Calls that application threads leave for the poller, and wait for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/call_outcome.hpp>

namespace spindrift::group {

/// `Call` has an `outcome`, an optional Result, which is nothing at first; a call with one is over.
template <class Call>
class CallList {
 public:
  /// Leaves the call for the poller, which `call_poller` wakes, and waits until it is over; `late`: the outcome if that does
  /// not come within the limit. Any thread that runs no handlers.
  template <class CallPoller>
  [[nodiscard]] auto make(Call call, std::optional<Duration> limit, const CallPoller& call_poller, Error late) {
    const auto place = begin(std::move(call));
    call_poller();
    return await_outcome(mutex_, changed_, calls_, place, limit, std::move(late));
  }

  // The poller.
  /// There are calls that `take` has not seen.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// Gives each call that is not over to `step`, which may set its outcome.
  template <class Step>
  void take(const Step& step) {
    any_.store(false, std::memory_order_seq_cst);
    look(step);
  }
  /// The same, for news that is none of a call.
  template <class Step>
  void look(const Step& step) {
    {
      const std::lock_guard lock(mutex_);
      for (Call& call : calls_) {
        if (!call.outcome) step(call);
      }
    }
    changed_.notify_all();
  }
  /// This member is in no view any more: all calls are over, also those to come.
  void on_end(const Error& why) {
    {
      const std::lock_guard lock(mutex_);
      end_ = why;
    }
    look([&](Call& call) { call.outcome = why; });
  }

 private:
  [[nodiscard]] typename std::list<Call>::iterator begin(Call call) {
    const std::lock_guard lock(mutex_);
    const auto place = calls_.insert(calls_.end(), std::move(call));
    if (end_) place->outcome = *end_;
    any_.store(true, std::memory_order_seq_cst);
    return place;
  }

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Behind the mutex:
  std::list<Call> calls_;
  std::optional<Error> end_;
};

}  // namespace spindrift::group
