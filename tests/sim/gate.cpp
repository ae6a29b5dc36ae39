// Running many seeds.
#include "gate.hpp"

#include <array>
#include <chrono>
#include <cstdio>

#include "cluster.hpp"
#include "views/fleet.hpp"

namespace spindrift::sim {
namespace {

constexpr std::uint64_t metamorphic_every = 16;
constexpr std::uint64_t split_every = 8;

struct Outcome {
  std::optional<Violation> violation;
  std::vector<std::uint64_t> received;
};

Outcome run_with_batches(Options options, std::uint64_t batch) {
  options.policy = smc::Ablation::of_batches(batch, batch, batch);
  for (NodeOptions& node : options.nodes) node.echoes = 0;
  // Threads that share a ring interleave as time has it; what each sends does not depend on time.
  std::vector<ThreadOptions> lonely;
  for (const ThreadOptions& thread : options.threads) {
    bool shares = false;
    for (const ThreadOptions& other : lonely) shares |= other.node == thread.node && other.subgroup == thread.subgroup;
    if (!shares) lonely.push_back(thread);
  }
  options.threads = std::move(lonely);
  Cluster cluster(options);
  cluster.run();
  Outcome outcome{cluster.report().violation(), {}};
  for (std::uint32_t rank = 0; rank < options.nodes.size(); ++rank) {
    for (std::uint32_t s = 0; s < options.view.subgroups.size(); ++s)
      outcome.received.push_back(cluster.checker().outcome(Rank(rank), s));
  }
  return outcome;
}

// R5: batch limits and where rings lie change when things happen, never what is delivered.
std::optional<Violation> compare_outcomes(const Options& options) {
  const Outcome one = run_with_batches(options, 1);
  const Outcome sixteen = run_with_batches(options, 16);
  Options other = options;
  other.split_rows();
  const Outcome split = run_with_batches(std::move(other), 16);
  for (const Outcome& outcome : {one, sixteen, split}) {
    if (outcome.violation) return outcome.violation;
  }
  if (one.received != sixteen.received) return Violation{"R5", "batch limits 1 and 16 deliver different messages", 0};
  if (split.received != sixteen.received) return Violation{"R5", "rows that are split deliver different messages", 0};
  return std::nullopt;
}

/// The result of a run of either kind.
struct Run {
  std::uint64_t events = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t hash = 0;
  Report report;
  std::string options;
};

Run run_one_view(std::uint64_t seed, bool verbose, bool split) {
  Options chosen = Options::of(seed);
  if (split) chosen.split_rows();
  Cluster cluster(chosen);
  cluster.set_verbose(verbose);
  cluster.run();
  Run run{cluster.events(), cluster.checker().deliveries(), cluster.hash(), cluster.report(), chosen.describe()};
  if (!split && !run.report.failed() && seed % metamorphic_every == 0) {
    if (auto violation = compare_outcomes(chosen)) run.report.violation() = std::move(violation);
  }
  return run;
}

Run run_views(std::uint64_t seed, bool verbose, bool split) {
  Plan plan = Plan::of(seed);
  if (split) plan.split_rows();
  Fleet fleet(std::move(plan));
  fleet.set_verbose(verbose);
  fleet.run();
  return {fleet.events(), fleet.deliveries(), fleet.hash(), fleet.report(), fleet.plan().describe()};
}

}  // namespace

GateResult run_gate(const GateOptions& options) {
  GateResult result;
  std::array<std::uint64_t, static_cast<std::size_t>(Probe::count)> probes{};
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds && !result.failure; ++seed) {
    if (options.on_seed) options.on_seed(seed);
    if (options.logs && Plan::of(seed).disks.empty()) continue;
    if (options.forced && !Plan::of(seed).forces) continue;
    const bool one_view =
        options.kind == GateOptions::Kind::one_view || (options.kind == GateOptions::Kind::both && seed % 3 == 0);
    const auto play = one_view ? run_one_view : run_views;
    bool split = options.split_rows;
    Run run = play(seed, options.verbose, split);
    ++result.seeds;
    result.events += run.events;
    result.deliveries += run.deliveries;
    result.hash = mix(result.hash ^ run.hash);
    if (options.hashes)
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(run.hash));
    if (!split && seed % split_every == 0 && !run.report.failed()) {
      split = true;
      run = play(seed, options.verbose, split);
    }
    for (std::size_t i = 0; i < probes.size(); ++i) probes[i] += run.report.hits(static_cast<Probe>(i)) > 0 ? 1 : 0;
    if (const auto& violation = run.report.violation()) {
      result.failure = GateFailure{seed, split, violation->invariant, violation->what, run.options};
    }
    const auto elapsed = std::chrono::steady_clock::now() - start;
    if (options.seconds > 0 && elapsed >= std::chrono::seconds(options.seconds)) break;
  }
  for (std::size_t i = 0; i < probes.size(); ++i) result.probes.emplace_back(to_string(static_cast<Probe>(i)), probes[i]);
  return result;
}

}  // namespace spindrift::sim
