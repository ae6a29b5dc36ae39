// Drawing plans in which members wait for a revival.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {

// Most of the members die, or lose each other, at about one time: few are left that have read each other.
void draw_revivals(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::revivals);
  const bool fit = !plan.storm && !plan.deaths && !plan.clocks_go_back && plan.broken_links == 0 &&
                   plan.founded_by == views::FoundedBy::named;
  if (!fit || !random.chance(1, 6)) return;
  plan.waits = true;
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  Ticks at = static_cast<Ticks>(random.spread(1'000'000, 8'000'000));
  const std::uint32_t first = static_cast<std::uint32_t>(random.below(nodes));
  for (std::uint32_t i = 0; i < (nodes + 1) / 2; ++i) {
    const std::uint32_t node = (first + i) % nodes;
    const auto kind = random.pick({Action::Kind::crash, Action::Kind::crash, Action::Kind::crash_in_change});
    plan.actions.push_back({at, kind, node, 0, 0, kind == Action::Kind::crash ? 0 : random.spread(1, 60), Cut::nothing});
    at += static_cast<Ticks>(random.spread(1, random.chance(1, 4) ? 2'000'000 : 20'000));
    if (random.chance(1, 3))
      plan.actions.push_back({at + static_cast<Ticks>(random.spread(1, 5'000'000)), Action::Kind::start, node});
  }
  plan.faults_end = std::max(plan.faults_end, at + static_cast<Ticks>(random.spread(100'000, 5'000'000)));
}

}  // namespace spindrift::sim
