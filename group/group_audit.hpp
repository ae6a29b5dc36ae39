// A group's life in a member's audit.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/refused_callers.hpp>
#include <spindrift/views/new_view.hpp>

namespace spindrift::group {

/// The address at which a node listens; empty: it listens on this host alone, or nobody knows.
using AddressOf = std::function<std::string(NodeId)>;

/// Tells of members that have left, were removed or `joined`: in a member's own first view, that are all of its members.
void tell_view(AuditTrail& audit, const views::NewView& news, const std::vector<NodeId>& joined,
               const AddressOf& address_of);

/// Processes that asked to be in the group, and were turned away: two that have parted ask each other again and again, and
/// each time is no news. Told at once, and for the same node and reason again after a minute, with how often it was so. The
/// poller's.
class RefusedNodes {
 public:
  static constexpr Duration until_repeated = std::chrono::minutes(1);

  void tell(AuditTrail& audit, NodeId node, const std::string& reason, std::string address, Time now);

 private:
  fabric::RefusedCallers<NodeId> told_{until_repeated};
};

/// Tells how this member ended: well, or by that error.
void tell_end(AuditTrail& audit, NodeId self, const std::optional<Error>& failure);

}  // namespace spindrift::group
