// A view: the agreed, numbered list of members with their subgroups. Plain data; everything that members must agree on
// without talking (row layout, ranks, order) is a pure function of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/history_bounds.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/profile.hpp>
#include <spindrift/core/roster.hpp>

namespace spindrift {

/// A node that has the log of a subgroup: as that process, and each later one whose disk has all that this one left there.
struct LogHolder {
  NodeId node;                    ///< in the view or not
  std::uint64_t incarnation = 0;  ///< of the node's latest process of which it is known
  friend bool operator==(const LogHolder&, const LogHolder&) = default;
};

/// A subgroup as one view has it.
struct SubgroupView {
  std::string name;             ///< unique in the view; empty if it was dropped
  std::vector<NodeId> members;  ///< members of the previous view's in that order, then newcomers in rank order; at least
                                ///< one, unless inadequate
  std::vector<NodeId> senders;  ///< those of the members that may send, in the same order; at least one, unless inadequate
  DeliveryMode mode = DeliveryMode::ordered;  ///< the same in all views
  Profile profile;  ///< the same in all views, but for the window and the ring of messages that are not large
  std::vector<std::string> topics;  ///< topics that travel through this subgroup; unique in the view
  std::string inadequate{};         ///< why it has no members in this view, in words for people; empty: it is adequate
  /// How much of what is delivered each member keeps for newcomers, in memory, or of its log; the same in all views.
  HistoryBounds history{};
  bool dropped = false;             ///< nothing is at its place in this view; another may be created there later
  SubgroupStorage storage = SubgroupStorage::memory;  ///< the same in all views
  /// Logged: those whose logs have everything of the views before that was reported durable, be they in the view or not.
  std::vector<LogHolder> log_holders{};

  [[nodiscard]] std::optional<std::uint32_t> member_position(NodeId node) const;  ///< none: no member
  [[nodiscard]] std::optional<SenderRank> sender_rank(NodeId node) const;  ///< none: it may not send
};
/// An agreed list of members, and what it makes of the subgroups.
struct View {
  ViewId id;                                ///< grows by one from view to view
  std::vector<NodeId> members;              ///< in rank order, no duplicates
  /// Those of the layout, then those that were added. SubgroupId is the position, the same in every view of a group as long
  /// as the subgroup is there; no view has fewer places than the one before.
  std::vector<SubgroupView> subgroups;
  std::vector<std::uint64_t> incarnations{};  ///< by rank; empty where it does not matter (tests of one view)
  std::uint64_t table_bytes = 0;  ///< of each row, for the program's own tables; the same in all views
  Roster roster{};  ///< the nodes that may be in the group, all members among them; empty where it does not matter, likewise

  [[nodiscard]] std::optional<Rank> rank_of(NodeId node) const;  ///< none: no member
  [[nodiscard]] const SubgroupView& subgroup(SubgroupId which) const { return subgroups.at(which.value()); }  ///< in range
  /// So many of the subgroups, the first ones, are the layout's.
  [[nodiscard]] std::size_t layout_count() const noexcept { return subgroups.size() - roster.added.size(); }
  /// These, valid as long as `subgroups` is.
  [[nodiscard]] std::span<const SubgroupView> of_layout() const {
    return std::span(subgroups).first(std::min(layout_count(), subgroups.size()));
  }
  [[nodiscard]] const SubgroupView* in_layout(std::string_view name) const;  ///< null: the layout has none of that name
};

/// Most subgroups of a layout that are logged: a node's record names those that have each one's log.
inline constexpr std::size_t logged_subgroup_count_max = 64;
/// Most members of a view.
inline constexpr std::size_t member_count_max = roster_count_max;

/// The subgroups of the view of `members` (in rank order, at least one) that follows `previous` (null: the first view). Pure
/// and the same at all members of a group, so that they need not agree on more than the members. Their number, their names
/// and their order are the same in all views, whoever the members are: rows have words for each by its place, and a subgroup
/// that lacks members is inadequate and keeps its place. A member that is in both views stays in its subgroups, also a node
/// that was restarted in between; a caller to whom that matters takes it out of the subgroups of the `previous` that it
/// passes. Any thread.
using LayoutFunction = std::function<std::vector<SubgroupView>(const std::vector<NodeId>& members, const View* previous)>;

/// All subgroups of such a view: the layout's, which is shown its own of `previous` alone; then those that the view's roster
/// adds.
[[nodiscard]] std::vector<SubgroupView> subgroups_of(const LayoutFunction& layout, const Roster& roster,
                                                     const std::vector<NodeId>& members, const View* previous);

}  // namespace spindrift
