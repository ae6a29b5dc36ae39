// Plans in which nothing happens but deaths on one host.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

// Some of the dead nodes come again, and some of those die while they are taken in.
void draw_newcomers(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::newcomers);
  if (!random.chance(1, 2)) return;
  const auto deaths = plan.actions;
  for (const Action& death : deaths) {
    if (death.kind == Action::Kind::start || random.chance(1, 3)) continue;
    Ticks at = death.at + static_cast<Ticks>(random.spread(1'000, 2'000'000));
    for (std::uint64_t left = random.between(1, 3); left > 0; --left) {
      plan.actions.push_back({at, Action::Kind::start, death.node, 0, 0, 0, Cut::nothing});
      if (random.chance(1, 4)) break;
      at += static_cast<Ticks>(random.spread(1'000, 1'000'000));
      plan.actions.push_back({at, Action::Kind::crash, death.node, 0, 0, 0, Cut::nothing});
      at += static_cast<Ticks>(random.spread(1'000, 1'000'000));
    }
    plan.faults_end = std::max(plan.faults_end, at + 1'000'000);
  }
}

}  // namespace

// Processes of one host die one after another, early or late in the change that the last death began, until one is left or
// a few are.
void draw_deaths(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::deaths);
  const bool fit = !plan.storm && plan.broken_links == 0 && !plan.clocks_go_back && plan.fabric.mappable &&
                   (plan.suspect_after == 0 || plan.suspect_after >= 5'000'000);
  if (!fit || !random.chance(1, 4)) return;
  plan.deaths = true;
  plan.fabric.unsaid_in_8 = 0;
  plan.actions.clear();
  plan.founders.clear();
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < plan.nodes.size(); ++i) {
    NodePlan& node = plan.nodes[i];
    node.host = 0;
    node.imposter = false;
    node.throws_after = 0;
    node.lagging_after = 0;
    plan.founders.push_back(i);
    order.push_back(i);
    plan.actions.push_back({static_cast<Ticks>(random.spread(1, 20'000)), Action::Kind::start, i, 0, 0, 0, Cut::nothing});
  }
  random.shuffle(order);
  if (random.chance(1, 4)) order.resize(random.between(1, order.size()));
  order.pop_back();
  Ticks at = static_cast<Ticks>(random.spread(4'000'000, 8'000'000));
  for (const std::uint32_t node : order) {
    const auto kind = random.pick({Action::Kind::crash, Action::Kind::crash_at, Action::Kind::crash_in_change});
    plan.actions.push_back({at, kind, node, 0, 0, kind == Action::Kind::crash ? 0 : random.spread(1, 60), Cut::nothing});
    if (random.chance(7, 8)) at += static_cast<Ticks>(random.spread(1, random.chance(1, 4) ? 5'000'000 : 500'000));
  }
  plan.faults_end = at + 1'000'000;
  draw_newcomers(seed, plan);
}

}  // namespace spindrift::sim
