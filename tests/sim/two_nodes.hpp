// A plan for tests of the checkers, in which nothing happens by itself.
#pragma once

#include "views/plan.hpp"

namespace spindrift::sim {

/// Two nodes on two hosts, both founders, and a subgroup of both; nothing happens to them.
[[nodiscard]] inline Plan two_that_found() {
  Plan plan;
  plan.seed = 1;
  plan.suspect_after = 1'000'000;
  plan.faults_end = 300'000;
  plan.fabric.hello_before_memory = true;
  SubgroupPlan subgroup;
  subgroup.name = "s";
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 4, .message_bytes_max = 64};
  plan.subgroups = {subgroup};
  for (std::uint32_t i = 0; i < 2; ++i) {
    plan.nodes.push_back({.host = i});
    plan.founders.push_back(i);
    plan.actions.push_back({1 + i, Action::Kind::start, i, 0, 0, 0, Cut::nothing});
  }
  return plan;
}

}  // namespace spindrift::sim
