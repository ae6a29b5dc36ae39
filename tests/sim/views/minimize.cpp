// One kind of strike after another, until none helps.
#include "minimize.hpp"

#include <algorithm>
#include <functional>

#include "fleet.hpp"

namespace spindrift::sim {
namespace {

class Striker {
 public:
  explicit Striker(Plan plan) : best_{std::move(plan), {}, {}, 0} {
    Fleet fleet(best_.plan);
    fleet.run();
    ++best_.runs;
    if (!fleet.report().violation()) return;
    best_.invariant = fleet.report().violation()->invariant;
    best_.what = fleet.report().violation()->what;
  }

  [[nodiscard]] bool fails() const { return !best_.invariant.empty(); }
  [[nodiscard]] const Plan& plan() const { return best_.plan; }
  [[nodiscard]] Minimized take() { return std::move(best_); }

  /// Keeps the change if the same invariant still fails.
  bool attempt(const std::function<void(Plan&)>& change) {
    Plan plan = best_.plan;
    change(plan);
    Fleet fleet(plan);
    fleet.run();
    ++best_.runs;
    const auto& violation = fleet.report().violation();
    if (!violation || violation->invariant != best_.invariant) return false;
    best_.plan = std::move(plan);
    best_.what = violation->what;
    return true;
  }

 private:
  Minimized best_;
};

/// Halves first, then smaller pieces, then single entries.
template <class Entry>
bool strike_entries(Striker& striker, std::vector<Entry> Plan::*list) {
  bool any = false;
  for (std::size_t piece = std::max<std::size_t>(1, (striker.plan().*list).size() / 2); piece > 0; piece /= 2) {
    for (std::size_t at = 0; at < (striker.plan().*list).size();) {
      const bool gone = striker.attempt([&](Plan& plan) {
        auto& entries = plan.*list;
        const std::size_t end = std::min(at + piece, entries.size());
        entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(at), entries.begin() + static_cast<std::ptrdiff_t>(end));
      });
      any |= gone;
      if (!gone) at += piece;
    }
  }
  return any;
}

bool strike_node(Striker& striker) {
  const auto last = static_cast<std::uint32_t>(striker.plan().nodes.size() - 1);
  if (last < 2) return false;
  return striker.attempt([&](Plan& plan) {
    plan.nodes.pop_back();
    std::erase(plan.founders, last);
    std::erase_if(plan.senders, [&](const SenderPlan& sender) { return sender.node == last; });
    std::erase_if(plan.actions, [&](const Action& action) {
      const bool pair = action.kind == Action::Kind::cut || action.kind == Action::Kind::heal;
      return action.node == last || (pair && action.other == last);
    });
    if (plan.founders.empty()) plan.founders.push_back(0);
  });
}

bool strike_subgroup(Striker& striker) {
  const auto last = static_cast<std::uint32_t>(striker.plan().subgroups.size() - 1);
  if (last == 0 || striker.plan().subgroups.back().added) return false;
  return striker.attempt([&](Plan& plan) {
    plan.subgroups.pop_back();
    std::erase_if(plan.senders, [&](const SenderPlan& sender) { return sender.subgroup == last; });
  });
}

bool calm_down(Striker& striker) {
  bool any = false;
  for (std::size_t i = 0; i < striker.plan().senders.size(); ++i) {
    while (striker.plan().senders[i].messages > 1 && striker.attempt([&](Plan& plan) { plan.senders[i].messages /= 2; }))
      any = true;
  }
  for (std::size_t i = 0; i < striker.plan().tables.size(); ++i) {
    while (striker.plan().tables[i].sets > 0 && striker.attempt([&](Plan& plan) { plan.tables[i].sets /= 2; })) any = true;
    while (striker.plan().tables[i].rounds > 0 && striker.attempt([&](Plan& plan) { plan.tables[i].rounds /= 2; }))
      any = true;
  }
  for (std::size_t i = 0; i < striker.plan().nodes.size(); ++i) {
    const NodePlan node = striker.plan().nodes[i];  // an attempt replaces the plan
    if (node.busy_in_1000 > 0) any |= striker.attempt([&](Plan& plan) { plan.nodes[i].busy_in_1000 = 0; });
    if (node.refusals_in_1000 > 0) any |= striker.attempt([&](Plan& plan) { plan.nodes[i].refusals_in_1000 = 0; });
    if (node.lagging_after > 0) any |= striker.attempt([&](Plan& plan) { plan.nodes[i].lagging_after = 0; });
    if (node.throws_after > 0) any |= striker.attempt([&](Plan& plan) { plan.nodes[i].throws_after = 0; });
    if (node.echoes > 0) any |= striker.attempt([&](Plan& plan) { plan.nodes[i].echoes = 0; });
  }
  if (striker.plan().fabric.clogs_in_1000 > 0) any |= striker.attempt([](Plan& plan) { plan.fabric.clogs_in_1000 = 0; });
  if (striker.plan().fabric.torn_in_4 > 0) any |= striker.attempt([](Plan& plan) { plan.fabric.torn_in_4 = 0; });
  return any;
}

}  // namespace

Minimized minimize(Plan plan) {
  Striker striker(std::move(plan));
  for (bool any = striker.fails(); any;) {
    any = strike_entries(striker, &Plan::actions);
    any |= strike_entries(striker, &Plan::senders);
    any |= strike_entries(striker, &Plan::tables);
    while (strike_subgroup(striker)) any = true;
    while (strike_node(striker)) any = true;
    any |= calm_down(striker);
  }
  return striker.take();
}

}  // namespace spindrift::sim
