// Nodes that are to be reached in another way than over this fabric, and why: each is told of once.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

class TurnedAwayNodes {
 public:
  /// Nothing: the node is welcome.
  void set(NodeId node, std::optional<Error> why) {
    reasons_.erase(node);
    if (why) reasons_.emplace(node, std::move(*why));
  }
  [[nodiscard]] bool contains(NodeId node) const { return reasons_.contains(node); }
  /// A call or a connection of the node is refused.
  void tell(NodeId node) {
    if (!told_.insert(node).second) return;
    log::warn(log::Room::fabric, "call turned away", {{"reason", reasons_.at(node).to_string()}});
  }

 private:
  std::map<NodeId, Error> reasons_;
  std::set<NodeId> told_;
};

}  // namespace spindrift::fabric
