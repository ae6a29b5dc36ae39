// The log's lines on nodes with which there is no connection, where waiting will not mend it: calls are repeated every
// second, but a log is read by people.
#pragma once

#include <map>
#include <string>
#include <utility>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

/// Why there is no connection with a node: told once for each reason.
class NodeRefusals {
 public:
  void tell(NodeId node, const Error& why) {
    std::string text = why.to_string();
    std::string& told = told_[node];
    if (told == text) return;
    told = std::move(text);
    log::warn(log::Room::fabric, "no connection with a node", {{"node", node}, {"reason", told}});
  }

 private:
  std::map<NodeId, std::string> told_;
};

}  // namespace spindrift::fabric::connected
