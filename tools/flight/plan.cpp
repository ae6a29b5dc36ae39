// Dealing topics onto subgroups and members.
#include "flight/plan.hpp"
#include "flight/tally_relay.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace spindrift::tools {
namespace {

struct Rule {
  std::string_view part;  // of the topic's name
  std::string_view subgroup;
};

// The first rule that applies wins.
constexpr std::array<Rule, 24> rules{
    {{"estimator", "estimation"}, {"ekf", "estimation"},     {"innovation", "estimation"}, {"wind", "estimation"},
     {"setpoint", "control"},     {"actuator", "control"},   {"control", "control"},       {"motor", "control"},
     {"tecs", "control"},         {"sensor", "sensors"},     {"vehicle_imu", "sensors"},   {"vehicle_air_data", "sensors"},
     {"magnetometer", "sensors"}, {"gps", "sensors"},        {"airspeed", "sensors"},      {"pressure", "sensors"},
     {"distance", "sensors"},     {"flow", "sensors"},       {"gyro", "sensors"},          {"baro", "sensors"},
     {"attitude", "estimation"},  {"angular", "estimation"}, {"position", "estimation"},   {"land_detected", "estimation"}}};

std::optional<SubgroupId> subgroup_of_topic(const View& view, const std::string& topic) {
  for (std::uint32_t i = 0; i < view.subgroups.size(); ++i) {
    const auto& topics = view.subgroups[i].topics;
    if (std::find(topics.begin(), topics.end(), topic) != topics.end()) return SubgroupId(i);
  }
  return std::nullopt;
}

Error bad(std::string message, std::string fix) {
  return Error(ErrorKind::bad_config, std::move(message)).fix(std::move(fix));
}

Result<void> check_subgroup(const View& view, const SubgroupView& subgroup, const ulog::Topic& topic, std::uint64_t needed) {
  if (subgroup.mode != DeliveryMode::ordered) {
    return bad(
        "subgroup " + subgroup.name + " carries topic " + topic.name + " but is unordered, so members' sequences may differ",
        "set its mode to ordered");
  }
  if (subgroup.members.size() != view.members.size()) {
    return bad("subgroup " + subgroup.name + " carries topic " + topic.name + " but lacks members of the group",
               "give it all members: the replay compares what every member delivers");
  }
  if (needed > subgroup.profile.message_bytes_max) {
    return bad(fmt::format("samples of {} take messages of {} bytes; subgroup {} takes {}", topic.name, needed,
                           subgroup.name, subgroup.profile.message_bytes_max),
               "raise max_smc_payload_size in the subgroup's profile");
  }
  return {};
}

/// Topic indices, most samples first; equal ones in the order of the recording.
std::vector<std::size_t> by_samples(const std::vector<ulog::Topic>& topics) {
  std::vector<std::size_t> order(topics.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return topics[a].samples > topics[b].samples; });
  return order;
}

}  // namespace

Result<FlightPlan> plan_flight(const ulog::Recording& recording, const TypedFlight& flight, const View& view) {
  FlightPlan plan(recording.topics().size());
  std::map<NodeId, std::uint64_t> load;
  for (const std::size_t index : by_samples(recording.topics())) {
    const ulog::Topic& topic = recording.topics()[index];
    const auto subgroup_id = subgroup_of_topic(view, topic.name);
    if (!subgroup_id)
      return bad("no subgroup carries the recorded topic " + topic.name, "add it to a subgroup's topics in the layout");
    const SubgroupView& subgroup = view.subgroup(*subgroup_id);
    SPINDRIFT_TRY(check_subgroup(view, subgroup, topic, flight.message_bytes_max(index)));
    const NodeId sender = *std::min_element(subgroup.senders.begin(), subgroup.senders.end(),
                                            [&](NodeId a, NodeId b) { return load[a] < load[b]; });
    load[sender] += topic.samples;
    plan[index] = {.subgroup = *subgroup_id, .sender = sender};
  }
  return plan;
}

std::optional<Sender> next_in_line(const TopicPlan& plan, const View& flight, const View& view) {
  std::vector<NodeId> line = view.subgroup(plan.subgroup).senders;
  std::erase_if(line, [&](NodeId node) { return !flight.rank_of(node); });
  if (line.empty()) return std::nullopt;
  std::sort(line.begin(), line.end());
  const auto found = std::lower_bound(line.begin(), line.end(), plan.sender);
  const NodeId node = found == line.end() ? line.front() : *found;
  const std::uint32_t rank = view.rank_of(node)->value();
  return Sender{node, rank < view.incarnations.size() ? view.incarnations[rank] : 0};
}

std::string_view usual_subgroup(std::string_view topic) noexcept {
  for (const Rule& rule : rules) {
    if (topic.find(rule.part) != std::string_view::npos) return rule.subgroup;
  }
  return "system";
}

bool may_carry(const SubgroupView& subgroup) noexcept { return subgroup.name != "dds-endpoints"; }

Result<View> flight_view(const Config& config) {
  SPINDRIFT_TRY_ASSIGN(View view, config.view());
  const std::vector<NodeId> founders = config.founders();
  if (founders.empty()) return view;
  const auto looks_on = [&](NodeId node) { return std::ranges::find(founders, node) == founders.end(); };
  std::erase_if(view.members, looks_on);
  for (SubgroupView& subgroup : view.subgroups) {
    std::erase_if(subgroup.members, looks_on);
    std::erase_if(subgroup.senders, looks_on);
  }
  return view;
}

std::string flight_config(const ulog::Recording& recording, const TypedFlight& flight, std::uint32_t members,
                          const std::string& group_name, const std::string& runtime_directory) {
  constexpr std::uint64_t least_message_bytes = 40'000;  // participants tell each other of types, by two descriptions
  std::uint64_t largest = std::max(least_message_bytes, tally_bytes_max(recording.topics().size()));
  std::map<std::string_view, std::vector<std::string>> topics;
  for (std::size_t t = 0; t < recording.topics().size(); ++t) {
    const std::string& topic = recording.topics()[t].name;
    largest = std::max(largest, flight.message_bytes_max(t));
    topics[usual_subgroup(topic)].push_back(topic);
  }
  topics["system"].emplace_back(tally_topic);
  std::string layout;
  for (const std::string_view name : {"sensors", "estimation", "control", "system"}) {
    if (topics[name].empty()) continue;
    layout += fmt::format("  {{\"name\": \"{}\", \"mode\": \"ordered\", \"topics\": [", name);
    for (std::size_t i = 0; i < topics[name].size(); ++i) {
      layout += fmt::format("{}\n    {}", i == 0 ? "" : ",", nlohmann::json(topics[name][i]).dump());
    }
    layout += "]},\n";
  }
  const auto ids = [](std::uint32_t count) {
    std::string text;
    for (std::uint32_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + std::to_string(i);
    return text;
  };
  return fmt::format(
      "# The group of a domain in which a flight recording is replayed: every recorded topic travels through one ordered\n"
      "# subgroup. All founders may write all of them and are given everything; the other nodes are for programs that look\n"
      "# on.\n\n"
      "[SPINDRIFT]\ngroup_name = {}\nmembers = {}\nfounders = {}\nruntime_directory = {}\nlog_level = error\n\n"
      "[SUBGROUP/DEFAULT]\nmax_smc_payload_size = {}\n\n"
      "[LAYOUT]\njson_layout = '[\n{}  {{\"name\": \"dds-endpoints\"}}\n]'\n",
      group_name, ids(members + more_nodes), ids(members), runtime_directory, largest, layout);
}

}  // namespace spindrift::tools
