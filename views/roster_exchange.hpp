// The messages about rosters: wishes to the leader, its proposal to all members, that it is held, and the group's roster to
// who is in no view yet. Pure; the poller's. (docs/protocol.md, "The roster")
//
// The invariant to remember: a member says that it holds a roster only once it sends nothing more to the subgroups which
// that drops, and has delivered and taken everywhere what it sent there. So nothing of them is left when the view ends.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/roster.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/installation.hpp>
#include <spindrift/views/links.hpp>
#include <spindrift/views/messages.hpp>
#include <spindrift/views/roster_wishes.hpp>

namespace spindrift::views {

class RosterExchange {
 public:
  /// `sizes`: as this process's file, or program, has the rings of the layout's subgroups. `speaks`: its versions. The
  /// links outlive this object.
  RosterExchange(NodeId self, std::vector<RingSizes> sizes, const Versions& speaks, Links& links)
      : self_(self), file_sizes_(std::move(sizes)), speaks_(speaks), links_(links) {}

  /// The application of this member wants that, in this view.
  void want(const std::vector<RosterChange>& changes, const View& view) { wishes_.want(changes, view); }
  void begin_view(const View& view);
  /// Takes what is said of rosters. `epoch`: the present view's; null before the first. False: it is about something else.
  /// The consequences at the links are to be settled behind it.
  [[nodiscard]] bool on_message(Epoch* epoch, const PeerConnection& from, Message& message);
  /// A connection is over, and with it what was told on it. Before the first view the process may go by another roster then.
  void on_over(const PeerConnection& with);
  /// The node was in a group with that roster, which may know other addresses than its file, or nodes that the file lacks;
  /// before the first view.
  void remember(Roster roster, const Roster& file);
  /// Has this member send nothing more to a subgroup until the view is over. Whether nothing of that one is under way here.
  using Silence = std::function<bool(SubgroupId)>;
  /// One pass in an active view, whose members are all in it. True: something was said.
  bool step(Epoch& epoch, const Silence& silence);
  /// A roster is proposed that does not admit this node: it leaves in order.
  [[nodiscard]] bool is_to_leave() const noexcept { return to_leave_; }
  /// It was to leave with a roster for which its own application had asked, in a view that ended without that one: it waits
  /// until such a roster is proposed again.
  [[nodiscard]] bool awaits_its_removal() const noexcept { return to_leave_ && !struck_ && wishes_.take_out(self_); }

 private:
  /// A roster that this member has, and has not yet said that it holds.
  struct Owed {
    Rank to;
    Digest roster;
    std::vector<SubgroupId> silenced;  ///< in which it has to be silent first
  };
  /// A roster that a member which is here tells this process before its first view: its nodes, and which are drained.
  struct Told {
    fabric::PeerId by;
    Roster roster;
  };
  void on_notice(fabric::PeerId by, const Roster& roster);
  void go_by(const Roster& heard);
  void on_file(Epoch& epoch, Rank from, std::vector<RingSizes> sizes);
  static void on_request(Epoch& epoch, Rank from, std::span<const RosterChange> changes);
  void on_proposal(Epoch& epoch, Rank from, RosterProposal proposal);
  void take(Epoch& epoch, Rank from, const Roster& roster);
  void say_held(Epoch& epoch, Rank to, const Digest& roster);
  bool propose(Epoch& epoch);
  bool say_owed(Epoch& epoch, const Silence& silence);
  [[nodiscard]] bool say_file_sizes(Epoch& epoch);

  NodeId self_;
  std::vector<RingSizes> file_sizes_;
  Versions speaks_;
  bool says_file_sizes_ = false;  // to the leader of the present view: they are not those that its roster knows of files
  Links& links_;
  RosterWishes wishes_;
  std::vector<Told> told_;          // these three only before the first view
  std::optional<Roster> latest_;    // the highest edition of all that was told or is remembered
  std::optional<Roster> in_force_;  // by which the links go; none: by the file
  bool to_leave_ = false;
  bool struck_ = false;  // from a roster that is proposed in the present view
  std::vector<Owed> owed_;  // in the present view
};

}  // namespace spindrift::views
