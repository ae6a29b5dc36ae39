// Machines that are too busy for their members, or have too little memory for a state.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {

// All on one host, where each sees why another is silent; one after another and several at a time get no CPU for up to some
// times the patience.
void draw_starving(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::starving);
  const bool fit = plan.suspect_after > 0 && !plan.storm && plan.broken_links == 0 && !plan.deaths;
  if (!fit || !random.chance(1, 12)) return;
  plan.fabric.mappable = true;
  for (NodePlan& node : plan.nodes) node.host = 0;
  const auto patience = static_cast<std::uint64_t>(plan.suspect_after);
  Ticks at = static_cast<Ticks>(random.spread(100'000, 5'000'000));
  for (std::uint64_t i = random.between(2, 8); i > 0; --i) {
    const auto node = static_cast<std::uint32_t>(random.below(plan.nodes.size()));
    const auto lasts = static_cast<Ticks>(random.spread(patience / 2, 4 * patience));
    plan.actions.push_back({at, Action::Kind::starve, node, 0, lasts, 0, Cut::nothing});
    at += static_cast<Ticks>(random.spread(1, 2 * patience));
  }
  plan.faults_end = std::max(plan.faults_end, at + plan.suspect_after);
}

void draw_failing_saves(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::saves);
  if (plan.broken_links > 0 || plan.deaths || !random.chance(1, 16)) return;
  for (NodePlan& node : plan.nodes) {
    if (random.chance(1, 2)) node.failing_saves_in_1000 = random.pick<std::uint64_t>({100, 500});
  }
}

}  // namespace spindrift::sim
