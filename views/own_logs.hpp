// Words of a node about its own logs, which its member says to the leader of its view. Pure; the poller's.
// (docs/protocol.md, "Logged subgroups")
#pragma once

#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/links.hpp>
#include <spindrift/views/own_record.hpp>
#include <spindrift/views/subgroup_logs.hpp>

namespace spindrift::views {

/// The ends of the node's logs that are not empty, nor cut short. `logs` may be null: there are none.
[[nodiscard]] std::vector<KnownLog> known_logs(const SubgroupLogs* logs, const std::vector<SubgroupView>& shapes);

/// One pass in an active view, whose members are all in it: where the group waits for a log, says once to the leader what
/// this node has of its logs. True: something was said.
bool say_own_logs(Epoch& present, const OwnRecord& record, const SubgroupLogs* logs, Links& links);
/// Takes what a member says so. `epoch`: the present view's; null before the first. False: it is about something else.
[[nodiscard]] bool hear_own_logs(Epoch* epoch, const PeerConnection& from, const Message& message);

}  // namespace spindrift::views
