// Waiting for the outcome of a call that was left for the poller in a list.
#pragma once

#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

/// Waits until the call, an element of the list, has an `outcome`, and takes it out of the list. The poller sets that behind
/// the mutex, and tells `changed`. Without a limit it waits as long as it takes; `late`: the outcome if none came in time.
template <class Call>
[[nodiscard]] auto await_outcome(std::mutex& mutex, std::condition_variable& changed, std::list<Call>& calls,
                                 typename std::list<Call>::iterator call, std::optional<Duration> limit, Error late) {
  std::unique_lock lock(mutex);
  const auto is_over = [&] { return call->outcome.has_value(); };
  if (limit) {
    static_cast<void>(changed.wait_for(lock, *limit, is_over));
  } else {
    changed.wait(lock, is_over);
  }
  typename decltype(call->outcome)::value_type outcome = std::move(late);
  if (is_over()) outcome = *std::move(call->outcome);
  calls.erase(call);
  return outcome;
}

}  // namespace spindrift::group
