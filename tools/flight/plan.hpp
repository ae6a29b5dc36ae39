// The plan of a replay: every topic of the recording travels through exactly one subgroup and comes from exactly one
// member at a time. Pure functions of recording and view, so that all processes find the same without talking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

#include "flight/typed_flight.hpp"
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
[[nodiscard]] Result<FlightPlan> plan_flight(const ulog::Recording& recording, const TypedFlight& flight, const View& view);

/// One life of a node: after its death another incarnation may send, but it does not inherit.
struct Sender {
  NodeId node;
  std::uint64_t incarnation = 0;
  bool operator==(const Sender&) const = default;
};

/// The sender of a topic in `view` when the one that sent it is gone: the planned member if it is there, else the next one
/// after it among those of the subgroup's senders that are in the flight's view, by id and round. Nothing if none is there.
[[nodiscard]] std::optional<Sender> next_in_line(const TopicPlan& plan, const View& flight, const View& view);

/// The subgroup that the demo's own configuration gives to a topic: sensors, estimation, control or system, by its name.
[[nodiscard]] std::string_view usual_subgroup(std::string_view topic) noexcept;

/// The text of a configuration for replaying this recording by nodes 0 … members − 1; the `more_nodes` behind them may come
/// and go, as participants that look on.
[[nodiscard]] std::string flight_config(const ulog::Recording& recording, const TypedFlight& flight, std::uint32_t members,
                                        const std::string& group_name, const std::string& runtime_directory);
inline constexpr std::uint32_t more_nodes = 16;

/// Whether topics of the flight may travel by it: it is not the one in which participants tell each other of topics.
[[nodiscard]] bool may_carry(const SubgroupView& subgroup) noexcept;
/// The view of the nodes that replay the flight: the founders of the configuration. Errors: bad_config.
[[nodiscard]] Result<View> flight_view(const Config& config);

}  // namespace spindrift::tools
