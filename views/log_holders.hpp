// Which nodes have the log of a subgroup from one view to the next, and from one founding to the next. Pure functions.
// (docs/protocol.md, "Logged subgroups")
//
// The invariant to remember: each holder's log has everything that was reported durable before the view. A subgroup whose
// log no member has is inadequate: it never begins anew beside a log that is elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/log_point.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/view_record.hpp>

namespace spindrift::views {

/// The holders in `next`, which follows from `view` by that decree: those that stay and were some, or have the state.
/// `loaded`: as loaded_in gives it.
void carry_logs(View& next, const View& view, const Decree& decree, const std::vector<RankSet>& loaded);

/// The logs of a node that looks for a group.
struct NodeLogs {
  Join who;
  std::uint64_t since = 0;  ///< as ViewRecord::logs_since() says
  std::vector<KnownLog> logs;
};

[[nodiscard]] std::vector<NodeLogs> logs_of(std::span<const NodeLogs> all, std::span<const NodeId> nodes);

/// Whether what this holder had is still there, in the hands of that node's process: its disk was not lost since.
[[nodiscard]] bool is_kept(const LogHolder& holder, NodeId node, std::uint64_t logs_since) noexcept;
[[nodiscard]] std::vector<NodeId> nodes_of(std::span<const LogHolder> holders);

/// The log of a subgroup as those that found have it.
struct FirstLog {
  SubgroupId subgroup;
  std::vector<LogHolder> holders;  ///< those of them that have everything; if none of them has, whoever does
  std::vector<NodeId> longest;  ///< those of them whose logs are the longest: they have the state; none: nobody here does
};

/// Logs of as many messages each, the longest that holders have, which are not the same: one was changed behind its node.
struct ForkedLog {
  SubgroupId subgroup;
  std::uint64_t version = 0;
  std::vector<NodeId> nodes;
  friend bool operator==(const ForkedLog&, const ForkedLog&) = default;
};
[[nodiscard]] std::vector<ForkedLog> forked_logs(std::span<const RecordedLog> recorded, std::span<const NodeLogs> founders);

/// Those of the recorded logs by whose holders nodes go on that found without a majority: not one which no holder has that
/// is `here`, and some founder has any of.
[[nodiscard]] std::vector<RecordedLog> without_lost(std::vector<RecordedLog> recorded, std::span<const NodeLogs> here,
                                                    std::span<const NodeLogs> founders);
/// The logs of all subgroups that have one. `recorded`: of the last view that is remembered, be it of members or not.
[[nodiscard]] std::vector<FirstLog> first_logs(std::span<const RecordedLog> recorded, std::span<const NodeLogs> founders);
/// The layout's subgroups in that first view: whoever has a log is in its subgroup, if the layout allows it. Where nobody
/// has any log, as without.
[[nodiscard]] std::vector<SubgroupView> first_subgroups(const LayoutFunction& layout, const std::vector<NodeId>& members,
                                                        std::span<const FirstLog> logs);
/// Errors: refused (a log that the node remembers is of another subgroup than the layout has at its place, so that the one
/// would be taken for the other's).
[[nodiscard]] Result<void> check_places(const ViewRecord& record, std::span<const SubgroupView> layout);
/// Sets the holders in a first view, and who is loaded there; by subgroup, all members are before.
void begin_logs(View& first, std::vector<RankSet>& loaded, std::span<const FirstLog> logs);

}  // namespace spindrift::views
