// Another roster for the next view: the leader proposes it, each member holds it and says so, and when all hold it that will
// stay, the decree that ends the view names it by its digest. Pure; of one view, in its Epoch.
//
// The invariant to remember: a roster is named by a decree only if every member that the decree keeps holds it, and what a
// member holds it holds until the view is over. So whoever follows the decree, under whatever leader, has the roster.
// (docs/protocol.md, "The roster")
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::views {

/// The subgroups of that view that are not in the next one if that has this roster.
[[nodiscard]] std::vector<SubgroupId> dropped_by(const View& view, const Roster& next);
/// Those, and the ones in which that member sends now, and will not as the roster has it.
[[nodiscard]] std::vector<SubgroupId> silenced_by(const View& view, const Roster& next, NodeId self);

class RosterAgreement {
 public:
  /// The view outlives this object.
  RosterAgreement(const View& view, Rank self) : view_(view), self_(self) {}

  /// Changes that a member wants, this one or another; for when this one leads. What is beyond `roster_changes_max` is
  /// dropped: who wants it says so again in the next view.
  void request(Rank by, std::span<const RosterChange> changes);
  /// The sizes of rings that a member's file says, this one's or another's, for when this one leads. False: they are not of
  /// the layout's subgroups.
  [[nodiscard]] bool on_file(Rank from, std::vector<RingSizes> sizes);
  /// At the leader, of an active view: the roster to propose to all others, once. This member holds it as the others do, and
  /// says so as they do: by `on_held`. `spoken`: the highest version that all members speak; the view's, if that is not
  /// known. Nothing: it was proposed, or nobody wants another.
  [[nodiscard]] std::optional<Roster> propose(std::uint32_t spoken);
  /// A member proposes this one. False: no correct member does.
  [[nodiscard]] bool hold(Rank from, Roster roster);
  /// A member, also this one, holds what this one proposed, if it is that.
  void on_held(Rank from, const Digest& roster);

  /// The digest of what this member proposed, if all of these hold it, and it admits all of them: so they may go into the
  /// next view with it.
  [[nodiscard]] std::optional<Digest> agreed(const RankSet& staying) const;
  /// Members that leave with a roster alone that does not admit them, and stay until one is agreed: they asked for it
  /// themselves, as far as the proposer can tell; to others any may have.
  [[nodiscard]] RankSet bound() const noexcept;
  /// Whether that process of the node may be in the next view, which these go into.
  [[nodiscard]] bool may_join(NodeId node, const Versions& speaks, const RankSet& staying) const;
  /// The roster with this digest, which some member proposed; null: this member does not hold it.
  [[nodiscard]] const Roster* held(const Digest& roster) const noexcept;
  /// The roster of the next view, if this decree is the one that ends this; null: this member does not hold it.
  [[nodiscard]] const Roster* next(const Decree& decree) const noexcept {
    return decree.roster ? held(*decree.roster) : &view_.roster;
  }
  /// Whether all that this decree brings into the next view may be in it, as far as this member can know.
  [[nodiscard]] bool admits(const Decree& decree) const noexcept;

 private:
  struct Held {
    Digest digest;
    Roster roster;
  };

  [[nodiscard]] const std::vector<RingSizes>* alike_in_all_files() const;
  void keep(Rank from, Roster roster);

  const View& view_;
  Rank self_;
  std::vector<RosterChange> wanted_;
  std::map<Rank, std::vector<RingSizes>> files_;  // of members whose file says something else than `Roster::filed`
  std::map<Rank, Held> held_;                     // by who proposed it
  RankSet holders_;                               // of what this member proposed
  RankSet removers_;                              // members that want themselves removed, or drained
  RankSet struck_;                                // members that this one's proposal does not admit
  RankSet struck_by_others_;                      // likewise any other one's
};

}  // namespace spindrift::views
