// Who sends what in a replay: every topic of the recording travels through exactly one subgroup and comes from exactly one
// member. A pure function of recording and view, so that all processes find the same without talking.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

#include "ulog.hpp"

namespace spindrift::tools {

struct TopicPlan {
  SubgroupId subgroup;
  NodeId sender;
};

/// By topic index.
using FlightPlan = std::vector<TopicPlan>;

/// Topics go to the subgroup whose list names them, and there to the sender with the fewest samples so far. Errors:
/// bad_config: a topic in no subgroup, or in one that is not ordered, lacks members, or takes only smaller messages.
[[nodiscard]] Result<FlightPlan> plan_flight(const ulog::Recording& recording, const View& view);

/// The subgroup that the demo's own configuration gives to a topic: sensors, estimation, control or system, by its name.
[[nodiscard]] std::string_view usual_subgroup(std::string_view topic) noexcept;

/// The text of a configuration for replaying this recording by nodes 0 … members − 1.
[[nodiscard]] std::string flight_config(const ulog::Recording& recording, std::uint32_t members,
                                        const std::string& group_name, const std::string& runtime_directory);

}  // namespace spindrift::tools
