// Drawing files that are changed while the group runs.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

bool has_layout(const Plan& plan) { return std::ranges::count(plan.subgroups, false, &SubgroupPlan::added) > 0; }

}  // namespace

Ticks draw_restart(Random& random, Plan& plan, std::uint32_t node, Ticks at) {
  const auto act = [&](Action::Kind kind) { plan.actions.push_back({at, kind, node, 0, 0, 0, Cut::nothing}); };
  const auto pass = [&](std::uint64_t most) { at += static_cast<Ticks>(random.spread(1, most)); };
  act(random.chance(3, 4) ? Action::Kind::leave : Action::Kind::crash);
  pass(random.chance(1, 2) ? 50'000 : 2'000'000);
  act(Action::Kind::start);
  pass(random.chance(1, 2) ? 30'000 : 3'000'000);
  return at;
}

// The files of most nodes, or all, are changed, and these are restarted one after another, or some are not; and sizes are
// wanted by somebody beside that, whatever files say.
void draw_ring_files(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::files);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  const bool imposters = std::ranges::any_of(plan.nodes, [](const NodePlan& node) { return node.imposter; });
  if (imposters || plan.broken_links > 0 || !has_layout(plan) || !random.chance(1, 5)) return;
  plan.deaths = false;  // as with other changes of the roster
  const auto of_layout = static_cast<std::uint64_t>(std::ranges::count(plan.subgroups, false, &SubgroupPlan::added));
  Ticks at = static_cast<Ticks>(random.spread(20'000, 2'000'000));
  const auto act = [&](Action::Kind kind, std::uint32_t node, std::uint32_t other, std::uint64_t count) {
    plan.actions.push_back({at, kind, node, other, 0, count, Cut::nothing});
  };
  for (std::uint64_t left = random.between(1, 3); left > 0; --left) {
    const std::uint64_t edition = random.below(4);
    const bool all = random.chance(1, 2);
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (all || random.chance(3, 4)) act(Action::Kind::edit, node, 0, edition);
    }
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (random.chance(1, 4)) {
        const auto subgroup = static_cast<std::uint32_t>(random.below(of_layout));
        const auto asker = static_cast<std::uint32_t>(random.below(nodes));
        act(Action::Kind::resize, asker, subgroup, random.between(1, 64));
      }
      if (!all && random.chance(1, 4)) continue;
      at = draw_restart(random, plan, node, at);
    }
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
}

}  // namespace spindrift::sim
