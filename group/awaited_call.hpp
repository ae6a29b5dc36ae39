// The question for whom sends of this process wait, which an application thread leaves for the poller: it alone reads rows.
#pragma once

#include <optional>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

/// A call of a CallList.
struct AwaitedCall {
  SubgroupId subgroup;
  std::optional<Result<std::vector<NodeId>>> outcome{};
};

}  // namespace spindrift::group
