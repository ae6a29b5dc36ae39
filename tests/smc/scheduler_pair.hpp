// Two members with many subgroups, whose schedulers a test runs pass by pass.
#pragma once

#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <memory>

#include <spindrift/smc/subgroup_scheduler.hpp>

#include "null_fabric.hpp"

namespace spindrift::smc {

inline constexpr std::uint32_t subgroup_count = 20;

inline View two_members(DeliveryMode mode) {
  View view;
  view.members = {NodeId(0), NodeId(1)};
  for (std::uint32_t s = 0; s < subgroup_count; ++s) {
    SubgroupView subgroup;
    subgroup.name = "s" + std::to_string(s);
    subgroup.members = view.members;
    subgroup.senders = view.members;
    subgroup.mode = mode;
    subgroup.profile = {.ring_bytes = 8192, .window_messages = 256, .message_bytes_max = 32};
    view.subgroups.push_back(subgroup);
  }
  return view;
}

/// A member whose rows the other maps.
struct Node final : DeliverySink, Stepper {
  Node(const View& view, std::uint32_t rank, const Policy& policy = {})
      : row(sst::RowLayout(view, view.members[rank]).bytes() / 8 + 8),
        table(view, view.members[rank], std::as_writable_bytes(std::span(row))),
        counters(CounterBlock::in_memory(Multicast::counters_max * subgroup_count)),
        scheduler(table, policy) {
    for (std::uint32_t s = 0; s < subgroup_count; ++s) scheduler.add(SubgroupId(s), *this, counters);
  }
  void on_delivery(SubgroupId subgroup, std::span<const Delivery> batch) override {
    delivered[subgroup.value()] += batch.size();
    for (const Delivery& each : batch) ++delivered_of[each.sender.value()];
    now += message_cost * batch.size();
    batch_longest = std::max(batch_longest, batch.size());
  }
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId subgroup) const override { return subgroup != closed; }
  bool send_and_receive(Multicast& multicast, std::uint64_t publish_bytes_max) override {
    ++stepped[multicast.id().value()];
    return Stepper::send_and_receive(multicast, publish_bytes_max);
  }
  /// True if anything changed.
  bool run() {
    stepped.clear();
    auto progress = scheduler.run(fabric, *this, now);
    REQUIRE(progress);
    return *progress;
  }
  void send(std::uint32_t subgroup, std::uint32_t count = 1) {
    SendRing& ring = *scheduler.multicast(SubgroupId(subgroup))->ring();
    for (; count > 0; --count) {
      const auto reservation = ring.reserve(16);
      REQUIRE(reservation);
      ring.commit(*reservation);
    }
  }

  std::vector<std::uint64_t> row;
  sst::Table table;
  CounterBlock counters;
  NullFabric fabric;
  Time now{};
  Duration message_cost{};  // of its handler
  std::size_t batch_longest = 0;
  std::map<std::uint32_t, std::uint64_t> delivered;     // by subgroup
  std::map<std::uint32_t, std::uint64_t> delivered_of;  // by sender
  std::map<std::uint32_t, std::uint32_t> stepped;       // by subgroup, in the last run
  SubgroupId closed{subgroup_count};
  SubgroupScheduler scheduler;
};

struct Pair {
  explicit Pair(const Policy& policy = {}, DeliveryMode mode = DeliveryMode::ordered)
      : view(two_members(mode)), nodes{Node(view, 0, policy), Node(view, 1, policy)} {
    nodes[0].table.attach_mapped(Rank(1), std::as_bytes(std::span(nodes[1].row)));
    nodes[1].table.attach_mapped(Rank(0), std::as_bytes(std::span(nodes[0].row)));
    for (Node& node : nodes) {
      for (const auto& multicast : node.scheduler.multicasts()) multicast->start();
    }
  }
  void run_until_quiet() {
    while (nodes[0].run() || nodes[1].run()) {
    }
  }
  const View view;
  Node nodes[2];
};

}  // namespace spindrift::smc
