// Drawing changes of the roster.
#include <algorithm>

#include "../random.hpp"
#include "plan.hpp"

namespace spindrift::sim {
namespace {

Ticks patience_of(const Plan& plan) { return plan.suspect_after > 0 ? plan.suspect_after : 2'000'000; }

// A file need name nobody but its own node where whoever is present founds: in most plans some lack nodes that run.
void draw_files(Random& random, Plan& plan) {
  if (random.chance(1, 3)) return;
  for (NodePlan& node : plan.nodes) {
    if (random.chance(2, 3)) node.names = random.chance(1, 3) ? 0 : random.below(std::uint64_t{1} << plan.nodes.size());
  }
}

}  // namespace

// Nodes that the group does not begin with are added and come; others are removed, and perhaps come back; or move.
void draw_rosters(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::rosters);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  const bool imposters = std::ranges::any_of(plan.nodes, [](const NodePlan& node) { return node.imposter; });
  const bool named = plan.founded_by == views::FoundedBy::named;
  if (!named && plan.broken_links == 0) draw_files(random, plan);
  if (imposters || plan.broken_links > 0 || nodes < 3 || !random.chance(1, named ? 4 : 2)) return;
  plan.deaths = false;  // beside them now: who is removed testifies nothing
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const bool founds = std::find(plan.founders.begin(), plan.founders.end(), i) != plan.founders.end();
    if (!founds && random.chance(2, 3)) plan.nodes[i].listed = false;
  }
  Ticks at = static_cast<Ticks>(random.spread(20'000, 2'000'000));
  for (std::uint64_t left = random.between(1, 8); left > 0; --left) {
    const auto subject = static_cast<std::uint32_t>(random.below(nodes));
    const auto asker = static_cast<std::uint32_t>(random.below(nodes));
    const auto start = [&] {
      const auto later = static_cast<Ticks>(random.spread(1, random.chance(1, 2) ? 50'000 : 2'000'000));
      plan.actions.push_back({at + later, Action::Kind::start, subject, 0, 0, 0, Cut::nothing});
    };
    if (!plan.nodes[subject].listed || random.chance(1, named ? 3 : 2)) {
      plan.actions.push_back({at, Action::Kind::add, asker, subject, 0, 0, Cut::nothing});
      start();
    } else if (!named || random.chance(1, 2)) {  // on one host there is nowhere to move to
      plan.actions.push_back({at, Action::Kind::remove, asker, subject, 0, 0, Cut::nothing});
      if (random.chance(1, 3)) start();
    } else {
      const std::uint64_t place = random.between(1, 1'000);
      plan.actions.push_back({at, Action::Kind::move, asker, subject, 0, place, Cut::nothing});
      if (random.chance(2, 3)) {
        const auto end = random.chance(1, 2) ? Action::Kind::leave : Action::Kind::crash;
        plan.actions.push_back({at, end, subject, 0, 0, 0, Cut::nothing});
        start();
      }
    }
    const auto most = static_cast<std::uint64_t>(random.chance(1, 2) ? 30'000 : 3 * patience_of(plan));
    at += static_cast<Ticks>(random.spread(1, most));
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
}

// Members are asked to leave, and dead nodes to stay away; some die on their way out; their next processes are refused until
// somebody lets the node in again, or the group is forgotten.
void draw_drains(std::uint64_t seed, Plan& plan) {
  Random random(seed, Purpose::drains);
  const auto nodes = static_cast<std::uint32_t>(plan.nodes.size());
  const bool imposters = std::ranges::any_of(plan.nodes, [](const NodePlan& node) { return node.imposter; });
  const bool named = plan.founded_by == views::FoundedBy::named;
  if (!named || imposters || plan.broken_links > 0 || nodes < 3 || !random.chance(1, 4)) return;
  plan.deaths = false;  // as with other changes of the roster
  Ticks at = static_cast<Ticks>(random.spread(20'000, 2'000'000));
  const auto act = [&](Action::Kind kind, std::uint32_t node, std::uint32_t other = 0) {
    plan.actions.push_back({at, kind, node, other, 0, 0, Cut::nothing});
  };
  const auto pass = [&](std::uint64_t most) { at += static_cast<Ticks>(random.spread(1, most)); };
  const auto anybody = [&] { return static_cast<std::uint32_t>(random.below(nodes)); };
  for (std::uint64_t left = random.between(1, 5); left > 0; --left) {
    const std::uint32_t subject = anybody();
    act(Action::Kind::drain, anybody(), subject);
    if (random.chance(1, 4)) {
      const std::uint32_t second = anybody();
      act(Action::Kind::drain, anybody(), second);  // two at once, and perhaps one too many
    }
    pass(30'000);
    if (random.chance(1, 4)) act(Action::Kind::crash, subject);
    if (random.chance(1, 2)) {
      pass(random.chance(1, 2) ? 50'000 : 2'000'000);
      act(Action::Kind::start, subject);
    }
    pass(random.chance(1, 2) ? 30'000 : 3 * static_cast<std::uint64_t>(patience_of(plan)));
    if (random.chance(2, 3)) {
      act(Action::Kind::undrain, anybody(), subject);
      pass(random.chance(1, 2) ? 50'000 : 2'000'000);
      act(Action::Kind::start, subject);
    }
  }
  plan.faults_end = std::max(plan.faults_end, at + 100'000);
}

}  // namespace spindrift::sim
