// Following the members of a subgroup from view to view.
#include <spindrift/group/replica_members.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::replicated {

void ReplicaMembers::begin_view(ViewId view, std::span<const NodeId> members, std::span<const NodeId> anew) {
  const std::vector<NodeId> before = std::exchange(nodes_, {members.begin(), members.end()});
  const std::vector<ViewId> since_before = std::exchange(since_, {});
  view_ = view;
  for (const NodeId node : nodes_) {
    const auto found = std::find(before.begin(), before.end(), node);
    const bool goes_on = found != before.end() && std::find(anew.begin(), anew.end(), node) == anew.end();
    since_.push_back(goes_on ? since_before[static_cast<std::size_t>(found - before.begin())] : view);
  }
}

bool ReplicaMembers::contains(NodeId node) const noexcept {
  return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end();
}

bool ReplicaMembers::answers(NodeId node, ViewId delivered_in) const noexcept {
  const auto found = std::find(nodes_.begin(), nodes_.end(), node);
  return found != nodes_.end() && since_[static_cast<std::size_t>(found - nodes_.begin())] <= delivered_in;
}

}  // namespace spindrift::replicated
