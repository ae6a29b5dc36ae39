// Plans with members that end when their application takes nothing for too long.
#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {

// Nodes whose application is to fail: some are patient with it, and end when it takes nothing for too long.
void draw_lag(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::lag);
  for (NodePlan& node : plan.nodes) {
    if (node.throws_after == 0 || !random.chance(1, 2)) continue;
    node.throws_after = 0;
    node.lagging_after = static_cast<Ticks>(random.spread(20'000, 2'000'000));
    node.refusals_in_1000 = 200;
    node.refusal_ns_max = 4 * node.lagging_after;
  }
}

// Such a member looks eight times in its patience for as long as it lives, and each look is two events: with the shortest
// patience that are millions in a plan of some seconds.
void allow_looks(Plan& plan) {
  constexpr Ticks events_in_patience = 16;
  for (const NodePlan& node : plan.nodes) {
    if (node.lagging_after == 0) continue;
    plan.events_max += static_cast<std::uint64_t>(2 * plan.faults_end / node.lagging_after * events_in_patience);
  }
}

}  // namespace spindrift::sim
