// The word of those who run the group that it goes on with a member's log, though those that are recorded to have more of it
// are gone: what speaks against it, and what is lost by it. Pure functions. (docs/protocol.md, "Logged subgroups")
#pragma once

#include <map>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/log_holders.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

/// A log that nobody has in the view, and what members have said of their own.
struct AwayLog {
  const View& view;
  const RecordedLog& recorded;
  const std::map<Rank, NodeLogs>& said;
};

/// The members that have the log that this node has: it, and all with as much of the same. Errors: bad_argument (it is no
/// member), refused: it has nothing of the log; a holder is here with it; somebody has not said yet what it has, or has more
/// of the log, or as much of another.
[[nodiscard]] Result<RankSet> adopted(const AwayLog& log, NodeId from);
/// For people: whose log is given up for that of this node, which may be adopted.
[[nodiscard]] Error loss_of(const AwayLog& log, NodeId from);
/// The reason why nothing is to be adopted there.
[[nodiscard]] Error not_away(const View& view, const std::vector<RankSet>& loaded, SubgroupId subgroup);

}  // namespace spindrift::views
