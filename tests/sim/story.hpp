// Histories made by hand, for tests of the checkers of what applications see.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "views/history.hpp"

namespace spindrift::sim {

inline Plan three_nodes(DeliveryMode mode = DeliveryMode::ordered, std::uint64_t state_bytes = 100) {
  Plan plan;
  plan.nodes.resize(3);
  plan.founders = {0, 1, 2};
  SubgroupPlan subgroup;
  subgroup.name = "s";
  subgroup.mode = mode;
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 8, .message_bytes_max = 256};
  subgroup.state_bytes = state_bytes;
  plan.subgroups = {subgroup};
  plan.suspect_after = 1'000'000;
  return plan;
}

/// Three processes in view 0, each with one thread; the test says what their applications see.
struct Story {
  explicit Story(Plan chosen = three_nodes()) : plan(std::move(chosen)), history(plan, report) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      history.on_start(i, i, 100 + i);
      streams[i] = history.add_stream(i, 0);
    }
  }
  [[nodiscard]] std::string found() const { return report.violation() ? report.violation()->invariant : "nothing"; }

  View view(std::uint64_t id, const std::vector<std::uint32_t>& members) const {
    View made;
    made.id = ViewId(id);
    for (const std::uint32_t member : members) {
      made.members.emplace_back(member);
      made.incarnations.push_back(100 + member);
    }
    made.subgroups = layout_of(plan.subgroups)(made.members, nullptr);
    return made;
  }
  void install(std::uint32_t process, const View& view, std::vector<views::Removal> failed = {}, bool loading = false,
               std::vector<SubgroupId> lost = {}, std::vector<NodeId> joined = {}) {
    history.on_view(process, {view, std::move(joined), {}, std::move(failed), std::move(lost)}, {loading});
  }
  void found_all() {
    for (std::uint32_t i = 0; i < 3; ++i) install(i, view(0, {0, 1, 2}));
  }
  std::vector<std::byte> message(std::uint32_t sender) {
    std::vector<std::byte> payload(64);
    history.write_message(streams[sender], payload);
    history.on_committed(streams[sender]);
    return payload;
  }
  void deliver(std::uint32_t process, std::uint32_t sender, std::span<const std::byte> payload, std::uint64_t sequence) {
    history.on_delivery(process, 0,
                        {NodeId(sender), SenderRank(sender), MessageIndex(0), SequenceNumber(sequence), payload});
  }

  Plan plan;
  Report report;
  History history;
  std::uint32_t streams[3] = {};
};

}  // namespace spindrift::sim
