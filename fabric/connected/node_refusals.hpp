// The log's lines on nodes with which there is no connection, where waiting will not mend it: calls are repeated every
// second, and a stranger can call in the name of any node, but a log is read by people.
#pragma once

#include <string>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/refused_callers.hpp>

namespace spindrift::fabric::connected {

/// Why there is no connection with a node: told at once, and for the same reason every hour.
class NodeRefusals {
 public:
  static constexpr Duration until_repeated = std::chrono::hours(1);

  void tell(NodeId node, const Error& why, Time now) {
    const std::string reason = why.to_string();
    const std::uint64_t times = refused_.due(node, reason, now);
    if (times == 0) return;
    log::warn(log::Room::fabric, "no connection with a node", {{"node", node}, {"reason", reason}, {"times", times}});
  }

 private:
  RefusedCallers<NodeId> refused_{until_repeated};
};

}  // namespace spindrift::fabric::connected
