// Drawing releases that are installed while the group runs.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {

// Later releases come to most nodes, or to all, which are restarted one after another, or some are not; and to some the
// first one again, which a group may refuse that has gone on. All of them speak the first version: so they find each other.
void draw_releases(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::releases);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  const bool imposters = std::ranges::any_of(plan.nodes, [](const NodePlan& node) { return node.imposter; });
  if (imposters || plan.broken_links > 0 || !random.chance(1, 6)) return;
  plan.deaths = false;  // as with other changes of the roster
  Ticks at = static_cast<Ticks>(random.spread(20'000, 2'000'000));
  for (std::uint64_t newest = 18, last = random.between(18, 20); newest <= last; ++newest) {
    const bool all = random.chance(1, 2);
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (!all && random.chance(1, 4)) continue;
      const std::uint64_t installed = !all && random.chance(1, 6) ? 17 : newest;
      plan.actions.push_back({at, Action::Kind::install, node, 17, 0, installed, Cut::nothing});
      at = draw_restart(random, plan, node, at);
    }
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
}

}  // namespace spindrift::sim
