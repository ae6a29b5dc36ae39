// The subgroup of views whose tests need one and look at other things.
#pragma once

#include <utility>
#include <vector>

#include <spindrift/core/view.hpp>

namespace spindrift::views {

/// All are members and senders, of small rings.
[[nodiscard]] inline SubgroupView subgroup_of(std::vector<NodeId> members) {
  SubgroupView subgroup;
  subgroup.name = "s";
  subgroup.senders = members;
  subgroup.members = std::move(members);
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 4, .message_bytes_max = 64};
  return subgroup;
}

/// A layout with that one.
[[nodiscard]] inline std::vector<SubgroupView> one_subgroup(const std::vector<NodeId>& members, const View*) {
  return {subgroup_of(members)};
}

}  // namespace spindrift::views
