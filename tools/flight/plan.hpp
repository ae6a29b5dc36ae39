// The plan of a replay: every topic of the recording travels through exactly one subgroup and comes from exactly one
// member at a time. Pure functions of recording and view, so that all processes find the same without talking.
#pragma once

#include <cstdint>
#include <optional>
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

/// One life of a node: after its death another incarnation may send, but it does not inherit.
struct Sender {
  NodeId node;
  std::uint64_t incarnation = 0;
  bool operator==(const Sender&) const = default;
};

/// The sender of a topic in `view` when the one that sent it is gone: the planned member if it is there, else the next one
/// after it among the subgroup's senders, by id and round. Nothing if no sender is there.
[[nodiscard]] std::optional<Sender> next_in_line(const TopicPlan& plan, const View& view);

/// The subgroup that the demo's own configuration gives to a topic: sensors, estimation, control or system, by its name.
[[nodiscard]] std::string_view usual_subgroup(std::string_view topic) noexcept;

/// The text of a configuration for replaying this recording by nodes 0 … members − 1.
[[nodiscard]] std::string flight_config(const ulog::Recording& recording, std::uint32_t members,
                                        const std::string& group_name, const std::string& runtime_directory);

}  // namespace spindrift::tools
