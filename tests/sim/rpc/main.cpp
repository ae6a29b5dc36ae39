// spindrift_sim_rpc: runs seeds of calls until told to stop or until one violates an invariant.
#include <CLI/CLI.hpp>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <unistd.h>

#include "rpc_run.hpp"
#include "seed_under_way.hpp"

namespace {

using spindrift::sim::cpu_seconds;
using spindrift::sim::seed_under_way;

// A failed CHECK ends the process: the seed must still be known.
void name_seed(int) { spindrift::sim::end_by("CHECK"); }

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulates processes that call each other, and checks the invariants of calls.");
  app.footer(
      "Exit codes: 0 all seeds clean, 1 an invariant was violated, 2 a probe was never hit (with --probes).\n"
      "Example: spindrift_sim_rpc --first 1 --seeds 1000");
  std::uint64_t first = 1, seeds = 1000;
  bool probes = false, hashes = false;
  app.add_option("--first", first, "First seed")->capture_default_str();
  app.add_option("--seeds", seeds, "Seeds to run, one after another")->capture_default_str();
  app.add_flag("--hashes", hashes, "Print each seed's trace hash");
  app.add_flag("--probes", probes, "Fail if a probe was never hit");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGABRT, name_seed);

  std::uint64_t events = 0, calls = 0;
  std::map<std::string, std::uint64_t> met;
  const double before = cpu_seconds();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    seed_under_way = seed;
    const auto plan = spindrift::sim::RpcPlan::of(seed);
    const auto result = spindrift::sim::run_rpc(plan);
    events += result.events;
    calls += result.calls;
    for (const auto& [name, hits] : result.probes) met[name] += hits;
    if (hashes)
      std::printf("%llu %016llx\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(result.hash));
    if (result.invariant.empty()) continue;
    std::fprintf(stderr, "%s\nseed %llu: violated %s: %s\n", plan.describe().c_str(), static_cast<unsigned long long>(seed),
                 result.invariant.c_str(), result.what.c_str());
    return 1;
  }
  const double seconds = cpu_seconds() - before;
  std::printf("%llu seeds, %llu events, %llu calls, %.0f seeds per hour and core\n", static_cast<unsigned long long>(seeds),
              static_cast<unsigned long long>(events), static_cast<unsigned long long>(calls),
              static_cast<double>(seeds) * 3600 / seconds);
  bool all_met = true;
  for (const auto& [name, hits] : met) {
    std::printf("  %10llu  %s\n", static_cast<unsigned long long>(hits), name.c_str());
    all_met = all_met && hits > 0;
  }
  return probes && !all_met ? 2 : 0;
}
