// Calls to go on with a member's log in place of one that is gone, from application threads to the poller, and what comes of
// them: each is over when the view behind has begun, with that log or without.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/call_list.hpp>

namespace spindrift::views {
class Member;
}

namespace spindrift::group {

/// The word of those who run the group; see views::adopt_log.
struct LogAdoption {
  std::string subgroup;  ///< its name
  NodeId from;
  bool force = false;
  bool operator==(const LogAdoption&) const noexcept = default;
};

class AdoptCalls {
 public:
  /// `call_poller` is called when the poller has something to take. Waits until this member is in the view that came of it.
  /// Any thread that runs no handlers. Errors: as views::adopt_log; timed_out; refused (the view ended otherwise, for
  /// a member died meanwhile), and the reason for this member's end.
  template <class CallPoller>
  [[nodiscard]] Result<View> adopt(LogAdoption adoption, std::optional<Duration> limit, const CallPoller& call_poller) {
    return calls_.make({std::move(adoption)}, limit, call_poller, late());
  }

  // The poller.
  [[nodiscard]] bool any() const noexcept { return calls_.any(); }
  /// Between two views calls are kept for the one that comes.
  void take(views::Member& member);
  /// All members of the present view are in it.
  void on_active(views::Member& member);
  /// This member is in no view any more.
  void on_end(const Error& why) { calls_.on_end(why); }

 private:
  struct Call {
    LogAdoption adoption;
    std::optional<ViewId> of{};  ///< the view in which the log was away; nothing: the poller has not taken it
    std::optional<Result<View>> outcome{};
  };

  static void tell(Call& call, views::Member& member);
  [[nodiscard]] static Error late();

  CallList<Call> calls_;
};

}  // namespace spindrift::group
