// A flight for tests: recordings, plans, and who delivers their samples.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>

#include <spindrift/core/config/config.hpp>

#include "flight/plan.hpp"
#include "flight/tally.hpp"
#include "flight/typed_flight.hpp"
#include "ulog_builder.hpp"

namespace spindrift::tools::test {

inline ulog::Recording shipped() {
  auto recording = ulog::Recording::read(FLIGHT_DIRECTORY "/sample_log_small.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

inline ulog::Recording small() {
  auto recording = ulog::Recording::parse(std::move(spindrift::test::small_recording().bytes()), "small.ulg");
  REQUIRE(recording.ok());
  return std::move(*recording);
}

inline View view_of(const std::string& config) {
  const auto read = Config::parse(config, "flight.cfg");
  INFO((read.ok() ? std::string() : read.error().to_string()));
  REQUIRE(read.ok());
  auto view = read->view();
  REQUIRE(view.ok());
  return std::move(*view);
}

inline TypedFlight typed(const ulog::Recording& recording) {
  auto flight = TypedFlight::of(recording);
  INFO((flight.ok() ? std::string() : flight.error().to_string()));
  REQUIRE(flight.ok());
  return std::move(*flight);
}

/// A recording, typed and planned for so many members.
struct Flight {
  ulog::Recording recording = small();
  TypedFlight flight = typed(recording);
  View view;
  FlightPlan plan;
  explicit Flight(std::uint32_t members)
      : view(of_nodes(view_of(flight_config(recording, flight, members, "flight", "/dev/shm/x")), members)),
        plan(plan_flight(recording, flight, view).value()) {}
  [[nodiscard]] FlightParts parts() const { return {recording, flight, plan, view}; }
  static View of_nodes(View view, std::uint32_t members) {
    const auto more = [&](NodeId node) { return node.value() >= members; };
    std::erase_if(view.members, more);
    for (SubgroupView& each : view.subgroups) {
      std::erase_if(each.members, more);
      std::erase_if(each.senders, more);
    }
    return view;
  }
};

/// Delivers a recording's samples to a tally, in the order of the file.
struct Player {
  explicit Player(const Flight& of) : flight(of) {}
  const Flight& flight;
  std::vector<std::uint32_t> numbers = std::vector<std::uint32_t>(flight.recording.topics().size());
  std::vector<std::uint64_t> sequences = std::vector<std::uint64_t>(16);

  void deliver(FlightTally& tally, const ulog::Sample& sample, std::optional<NodeId> sender = {}) {
    std::vector<std::byte> message;
    flight.flight.write(sample.topic, numbers[sample.topic]++, message);
    const TopicPlan& planned = flight.plan[sample.topic];
    const Delivery delivery{.sender = sender.value_or(planned.sender),
                            .sender_rank = {},
                            .index = {},
                            .sequence = SequenceNumber(sequences[planned.subgroup.value()]++),
                            .payload = message};
    tally.add(planned.subgroup, delivery, sample.topic, message);
  }
};

/// A view of nodes 0 … with incarnation 10 + node, unless said otherwise.
inline View with_members(const View& all, std::uint64_t id,
                         const std::vector<std::pair<std::uint32_t, std::uint64_t>>& members) {
  View view = all;
  view.id = ViewId(id);
  view.members.clear();
  view.incarnations.clear();
  for (const auto& [node, incarnation] : members) {
    view.members.emplace_back(node);
    view.incarnations.push_back(incarnation);
  }
  for (SubgroupView& subgroup : view.subgroups) subgroup.members = subgroup.senders = view.members;
  return view;
}

}  // namespace spindrift::tools::test
