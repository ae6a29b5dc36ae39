// Enumerating crashes.
#include "crash_points.hpp"

#include <algorithm>
#include <vector>

#include "fleet.hpp"

namespace spindrift::sim {
namespace {

constexpr Ticks change_at = 400'000;
constexpr Ticks change_over = 900'000;

/// An effect of one process, counted from its start.
struct Boundary {
  std::uint32_t node = 0;
  std::uint64_t effect = 0;
};

Plan scripted(const CrashPointOptions& options) {
  Plan plan;
  plan.seed = 1;
  plan.suspect_after = 1'000'000;
  plan.fabric.hello_before_memory = true;
  plan.fabric.delay_ns_max = 2'000;
  plan.fabric.jitter_ns_max = 500;
  plan.fabric.line_gap_ns_max = 500;
  plan.fabric.connect_ns_max = 10'000;
  plan.fabric.lost_ns_max = 20'000;
  const bool join = options.change == CrashPointOptions::Change::join;
  const std::uint32_t nodes = options.nodes + (join ? 1 : 0);
  for (std::uint32_t i = 0; i < nodes; ++i) {
    NodePlan node;
    node.host = i % 2 == 0 ? 0 : i;  // some pairs map each other
    plan.nodes.push_back(node);
    if (i < options.nodes) plan.founders.push_back(i);
    if (i < options.nodes) plan.actions.push_back({1 + i, Action::Kind::start, i, 0, 0, 0, Cut::nothing});
    for (std::uint32_t s = 0; s < 2; ++s) {
      SenderPlan sender;
      sender.node = i;
      sender.subgroup = s;
      sender.messages = 12;
      sender.think_ns_max = 60'000;
      plan.senders.push_back(sender);
    }
  }
  for (std::uint32_t s = 0; s < 2; ++s) {
    SubgroupPlan subgroup;
    subgroup.name = "s" + std::to_string(s);
    subgroup.mode = s == 0 ? DeliveryMode::ordered : DeliveryMode::unordered;
    subgroup.profile = {.ring_bytes = 4096, .window_messages = 4, .message_bytes_max = 128};
    subgroup.state_bytes = 6000;
    plan.subgroups.push_back(subgroup);
  }
  Action change{change_at, Action::Kind::crash, 0, 0, 0, 0, Cut::nothing};
  if (join) change = {change_at, Action::Kind::start, options.nodes, 0, 0, 0, Cut::nothing};
  if (options.change == CrashPointOptions::Change::leave) change.kind = Action::Kind::leave;
  plan.actions.push_back(change);
  plan.faults_end = change_over;
  return plan;
}

/// Until the change, the scripted one or what crashes made of it, is over.
void run_change(Fleet& fleet, const std::vector<Boundary>& crashes) {
  fleet.run_until(change_at);
  const auto over = [&] {
    return fleet.at_rest_in(ViewId(1)) && std::none_of(crashes.begin(), crashes.end(), [&](const Boundary& crash) {
             return fleet.effects_at_crash_of(crash.node).empty();
           });
  };
  (void)fleet.run_while_not(over, change_over - change_at);
}

/// Every effect between the beginning of the change and its end.
std::vector<Boundary> boundaries_of(const Plan& plan) {
  Fleet fleet(plan);
  fleet.begin();
  fleet.run_until(change_at - 1);
  std::vector<std::uint64_t> before;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) before.push_back(fleet.effects_of(node));
  run_change(fleet, {});
  std::vector<Boundary> boundaries;
  for (std::uint32_t node = 0; node < plan.nodes.size(); ++node) {
    for (std::uint64_t effect = before[node]; effect < fleet.effects_of(node); ++effect)
      boundaries.push_back({node, effect});
  }
  return boundaries;
}

class Runner {
 public:
  Runner(const Plan& plan, CrashPointResult& result) : plan_(plan), result_(result) {}

  /// Returns the effects of other nodes that came after the last of these crashes; none if the run went wrong.
  std::vector<Boundary> run(const std::vector<Boundary>& crashes) {
    Plan plan = plan_;
    for (const Boundary& crash : crashes) plan.crashes.push_back({crash.node, crash.effect});
    Fleet fleet(plan);
    fleet.begin();
    run_change(fleet, crashes);
    std::vector<Boundary> later;
    if (!crashes.empty()) later = effects_after(fleet, crashes.back().node);
    fleet.run_until(change_over);
    fleet.end();
    ++result_.runs;
    result_.report.add_hits(fleet.report());
    const auto& violation = fleet.report().violation();
    if (!violation) return later;
    result_.failure = violation->invariant + ": " + violation->what + "; crashes:";
    for (const Boundary& crash : crashes) {
      result_.failure += " node " + std::to_string(crash.node) + " at its effect " + std::to_string(crash.effect);
    }
    return {};
  }

 private:
  [[nodiscard]] std::vector<Boundary> effects_after(Fleet& fleet, std::uint32_t dead) const {
    std::vector<Boundary> later;
    const std::vector<std::uint64_t>& before = fleet.effects_at_crash_of(dead);
    for (std::uint32_t node = 0; node < before.size(); ++node) {
      if (node == dead || !fleet.effects_at_crash_of(node).empty()) continue;  // it died already: of the change itself
      for (std::uint64_t effect = before[node]; effect < fleet.effects_of(node); ++effect) later.push_back({node, effect});
    }
    return later;
  }

  const Plan& plan_;
  CrashPointResult& result_;
};

}  // namespace

std::string to_string(CrashPointOptions::Change change) {
  switch (change) {
    case CrashPointOptions::Change::crash: return "crash";
    case CrashPointOptions::Change::join: return "join";
    case CrashPointOptions::Change::leave: return "leave";
  }
  return "unknown";
}

std::optional<CrashPointOptions::Change> change_named(const std::string& name) {
  using Change = CrashPointOptions::Change;
  for (const Change change : {Change::crash, Change::join, Change::leave}) {
    if (to_string(change) == name) return change;
  }
  return std::nullopt;
}

CrashPointResult run_crash_points(const CrashPointOptions& options) {
  CrashPointResult result;
  const Plan plan = scripted(options);
  Runner runner(plan, result);
  (void)runner.run({});
  const std::vector<Boundary> boundaries = boundaries_of(plan);
  result.boundaries = boundaries.size();
  for (std::size_t i = 0; i < boundaries.size() && result.failure.empty(); i += options.every) {
    for (const Boundary& second : runner.run({boundaries[i]})) {
      if (options.stride == 0 || result.pairs++ % options.stride != 0) continue;
      ++result.pairs_run;
      (void)runner.run({boundaries[i], second});
      if (!result.failure.empty()) return result;
    }
  }
  return result;
}

}  // namespace spindrift::sim
