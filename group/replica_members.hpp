// The replicas of one subgroup: its members, each with the view from which on it runs what is delivered.
//
// To remember: a member that gets the state in some view has what was delivered before as a part of it, or runs it late,
// behind the state, because its source had kept it. Which of the two, nobody else knows. So it answers nothing of an earlier
// view, and no caller waits for that; both conclude it from the views alone.
#pragma once

#include <span>
#include <vector>

#include <spindrift/core/ids.hpp>

namespace spindrift::replicated {

/// A value: copies are as of one view. Threads: none of its own.
class ReplicaMembers {
 public:
  /// The members of the subgroup in a view that begins. `anew`: those that are other processes than in the view before, or
  /// get the state in this one; members that were not there before need not be among them.
  void begin_view(ViewId view, std::span<const NodeId> members, std::span<const NodeId> anew);

  [[nodiscard]] ViewId view() const noexcept { return view_; }
  [[nodiscard]] const std::vector<NodeId>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] bool contains(NodeId node) const noexcept;
  /// That node is a member, and answers what was delivered in that view.
  [[nodiscard]] bool answers(NodeId node, ViewId delivered_in) const noexcept;

 private:
  ViewId view_{};
  std::vector<NodeId> nodes_;
  std::vector<ViewId> since_;  // of each node
};

}  // namespace spindrift::replicated
