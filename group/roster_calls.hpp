// Calls for another roster, from application threads to the poller, and what comes of them: each is over when the views have
// granted all of it, or made some of it impossible.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::group {

class RosterCalls {
 public:
  /// Wants these changes of the present view's roster; `call_poller` is called when the poller has something to take. Waits
  /// until a view has all of it, which it returns the roster of. Any thread that runs no handlers; behind the first view.
  /// Errors: bad_argument (impossible, or another change has made it so), timed_out, and the reason for this member's end.
  template <class CallPoller>
  [[nodiscard]] Result<Roster> change(const std::vector<RosterChange>& changes, std::optional<Duration> limit,
                                      const CallPoller& call_poller) {
    SPINDRIFT_TRY_ASSIGN(const auto call, begin(changes));
    call_poller();
    return await(call, limit);
  }

  // The poller.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// The changes that were wanted since.
  [[nodiscard]] std::vector<RosterChange> take();
  /// This view begins; all members have it from `on_active` on, and calls hear of it then.
  void on_view(const View& view);
  void on_active();
  /// This member is in no view any more. `left_with`: the roster of the first view without it; null: it does not know it.
  void on_end(const Error& why, const Roster* left_with);

 private:
  struct Call {
    std::vector<RosterChange> left;  ///< what is not granted yet
    std::optional<Result<Roster>> outcome;
  };

  [[nodiscard]] Result<std::list<Call>::iterator> begin(const std::vector<RosterChange>& changes);
  [[nodiscard]] Result<Roster> await(std::list<Call>::iterator call, std::optional<Duration> limit);
  void settle(Call& call) const;

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Behind the mutex:
  View view_;  // the present one: a call that it came too late for hears of it here
  bool active_ = false;
  std::list<Call> calls_;
  std::vector<RosterChange> untaken_;
  std::optional<Error> end_;
};

}  // namespace spindrift::group
