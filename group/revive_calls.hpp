// Calls to revive a view that has lost its majority, or to found without one, from application threads to the poller, and
// what comes of them: each is over when the nodes that it names are in a view together.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/call_list.hpp>

namespace spindrift::views {
class Member;
}

namespace spindrift::group {

/// The word of those who run the group; see Group::revive.
struct Revive {
  std::vector<NodeId> members;
  bool force = false;
  bool found = false;  ///< in place of a view that has lost its majority: to nodes that look for the group
  bool operator==(const Revive&) const noexcept = default;
};

class ReviveCalls {
 public:
  /// `call_poller` is called when the poller has something to take. Waits until this member is in a view that came of it.
  /// Any thread that runs no handlers. Errors: as Group::revive.
  template <class CallPoller>
  [[nodiscard]] Result<View> revive(Revive revive, std::optional<Duration> limit, const CallPoller& call_poller) {
    const bool founds = revive.found;
    return calls_.make({std::move(revive)}, limit, call_poller, late(founds));
  }

  // The poller.
  [[nodiscard]] bool any() const noexcept { return calls_.any(); }
  void take(views::Member& member);
  /// All members of the present view are in it.
  void on_active(const View& view);
  /// This member is in no view any more.
  void on_end(const Error& why) { calls_.on_end(why); }

 private:
  struct Call {
    Revive revive;
    bool taken = false;          ///< by the poller
    std::optional<ViewId> of{};  ///< the view that is to be revived; nothing: one is to be founded
    std::optional<Result<View>> outcome{};
  };

  [[nodiscard]] static Error late(bool founds);
  /// Takes a call that nobody has taken; its outcome, if it has one already.
  [[nodiscard]] std::optional<Result<View>> begin(views::Member& member, Call& call);

  CallList<Call> calls_;
  std::optional<Revive> founds_;  // the last word by force to found
  bool was_in_view_ = false;      // this process
};

}  // namespace spindrift::group
