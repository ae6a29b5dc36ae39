// Why a group is as it is: what its nodes have written of removals, ends, and what they wait for, in words and as JSON.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "group_counters.hpp"
#include "group_report.hpp"

namespace spindrift::tools {

/// About a node, a departure or a subgroup.
struct Explanation {
  nlohmann::json json;  ///< as docs/schemas/group_why.json has it
  std::string text;
};

/// Explanations with a time, in its order; then those of what is so now, by node. The counters tell of members whose status
/// cannot be written, for these are in files that need no more space.
[[nodiscard]] std::vector<Explanation> explanations_of(const GroupReport& report, const GroupCounters& counters);

/// In UTC, to the second.
[[nodiscard]] std::string time_text(std::uint64_t ms);

}  // namespace spindrift::tools
