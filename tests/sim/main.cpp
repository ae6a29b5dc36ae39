// spindrift_sim: runs seeds until told to stop or until one violates an invariant.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <csignal>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sys/time.h>
#include <unistd.h>

#include <spindrift/core/log.hpp>

#include "gate.hpp"
#include "seed_under_way.hpp"
#include "views/crash_points.hpp"
#include "views/fleet.hpp"
#include "views/minimize.hpp"
#include "views/script.hpp"
#include "views/torn_passes.hpp"

namespace {

using spindrift::sim::cpu_seconds;
using spindrift::sim::seed_under_way;
constexpr itimerval seed_cpu_time_max{{}, {60, 0}};  // of CPU time: a busy or paused machine is no endless step

// A failed CHECK or an endless step ends the process: the seed must still be known.
void name_seed(int signal) {
  spindrift::sim::end_by(signal == SIGVTALRM ? "L1: a step does not return"
                         : signal == SIGABRT ? "CHECK"
                                             : "memory safety");
}

struct CrashPoints {
  bool wanted = false;
  std::uint32_t nodes = 0;  ///< 0: 3, 4 and 5
  std::string change;       ///< empty: all
  std::uint64_t every = 1;
  std::uint64_t stride = 0;
};

int run_all_crash_points(const CrashPoints& chosen) {
  using Change = spindrift::sim::CrashPointOptions::Change;
  const auto only = spindrift::sim::change_named(chosen.change);
  for (std::uint32_t nodes = 3; nodes <= 5; ++nodes) {
    for (const Change change : {Change::crash, Change::join, Change::leave}) {
      if ((chosen.nodes != 0 && chosen.nodes != nodes) || (only && change != *only)) continue;
      const double before = cpu_seconds();
      const auto result = spindrift::sim::run_crash_points(
          {.nodes = nodes, .change = change, .every = chosen.every, .stride = chosen.stride});
      std::printf("%u nodes, %-5s  %5llu effects, every %llu: %7llu runs, with two crashes %7llu of %llu, %.0f s\n", nodes,
                  spindrift::sim::to_string(change).c_str(), static_cast<unsigned long long>(result.boundaries),
                  static_cast<unsigned long long>(chosen.every), static_cast<unsigned long long>(result.runs),
                  static_cast<unsigned long long>(result.pairs_run), static_cast<unsigned long long>(result.pairs),
                  cpu_seconds() - before);
      std::fflush(stdout);
      if (result.failure.empty()) continue;
      std::fprintf(stderr, "violated %s\n", result.failure.c_str());
      return 1;
    }
  }
  return 0;
}

int run_minimize(std::uint64_t seed, bool split) {
  spindrift::sim::Plan plan = spindrift::sim::Plan::of(seed);
  if (split) plan.split_rows();
  const auto smallest = spindrift::sim::minimize(std::move(plan));
  if (smallest.invariant.empty()) {
    std::printf("seed %llu violates nothing\n", static_cast<unsigned long long>(seed));
    return 0;
  }
  std::printf("%s\nviolated %s: %s\n(%llu runs)\n", smallest.plan.describe().c_str(), smallest.invariant.c_str(),
              smallest.what.c_str(), static_cast<unsigned long long>(smallest.runs));
  return 1;
}

int run_scripts(const std::vector<std::string>& files, bool verbose, std::uint64_t first) {
  for (const std::string& file : files) {
    for (std::uint64_t seed = first; seed < first + (verbose ? 1 : 20); ++seed) {
      std::ifstream script(file);
      if (!script) {
        std::fprintf(stderr, "cannot read %s\n", file.c_str());
        return 1;
      }
      const auto result = spindrift::sim::run_script(script, verbose, seed);
      if (result.failure.empty()) continue;
      std::fprintf(stderr, "%s, seed %llu: %s\n", file.c_str(), static_cast<unsigned long long>(seed),
                   result.failure.c_str());
      return 1;
    }
  }
  return 0;
}

int run_torn(std::uint64_t first, std::uint64_t seeds) {
  spindrift::sim::TornPassesResult sum;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    seed_under_way = seed;
    const auto result = spindrift::sim::run_torn_passes(seed);
    if (!result.failure.empty()) {
      std::fprintf(stderr, "seed %llu: violated %s\n", static_cast<unsigned long long>(seed), result.failure.c_str());
      return 1;
    }
    sum.passes += result.passes;
    sum.torn += result.torn;
    sum.decided += result.decided;
    sum.stuck += result.stuck;
  }
  std::printf("%llu views ended: %llu passes, rows torn %llu times, %llu members decided, %llu without a majority\n",
              static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(sum.passes),
              static_cast<unsigned long long>(sum.torn), static_cast<unsigned long long>(sum.decided),
              static_cast<unsigned long long>(sum.stuck));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Simulates groups from seeds and checks the protocol's invariants on every step.");
  app.footer(
      "Exit codes: 0 all seeds clean, 1 an invariant was violated, 2 a probe was never hit (with --probes).\n"
      "Example: spindrift_sim --first 1 --seeds 1000");
  spindrift::sim::GateOptions options;
  std::uint64_t single = 0;
  bool json = false;
  bool probes = false;
  auto* one = app.add_option("--seed", single, "Run this seed alone");
  app.add_option("--first", options.first, "First seed")->capture_default_str();
  app.add_option("--seeds", options.seeds, "Seeds to run, one after another")->capture_default_str();
  app.add_option("--seconds", options.seconds, "Stop after this time; 0: no limit")->capture_default_str();
  CrashPoints crash_points;
  std::uint64_t to_minimize = 0;
  auto* points = app.add_flag("--crash-points", crash_points.wanted, "Crash at every effect of scripted view changes");
  app.add_option("--stride", crash_points.stride, "With a second crash: at every so many of all pairs; 1: all, 0: none")
      ->needs(points)
      ->capture_default_str();
  app.add_option("--every", crash_points.every, "First crashes at every so many effects")
      ->needs(points)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--nodes", crash_points.nodes, "Of 3, 4 and 5 nodes only these")->needs(points)->check(CLI::Range(3, 5));
  app.add_option("--change", crash_points.change, "Only changes of this kind")
      ->needs(points)
      ->check(CLI::IsMember({"crash", "join", "leave"}));
  auto* smaller = app.add_option("--minimize", to_minimize, "Strike from this seed's plan what its violation does not need");
  std::vector<std::string> scripts;
  app.add_option("--script", scripts, "Play these scenarios (tests/script)");
  bool torn = false;
  app.add_flag("--torn", torn, "Only ends of views, by members whose passes overlap");
  bool one_view = false;
  bool views = false;
  app.add_flag("--one-view", one_view, "Only runs with one view");
  app.add_flag("--views", views, "Only runs whose view changes");
  app.add_flag("--split-rows", options.split_rows, "Every run with split rows; without this every eighth again");
  app.add_flag("--logs", options.logs, "Only runs with views that have logged subgroups; other seeds are left out");
  app.add_flag("--forced", options.forced, "Only runs in which a minority is told to found; other seeds are left out");
  app.add_flag("--verbose", options.verbose, "One line per state change and node");
  std::string levels = "off";
  app.add_option("--log", levels, "Levels of the members' log, as [SPINDRIFT] log takes them")->capture_default_str();
  app.add_flag("--hashes", options.hashes, "Print each seed's trace hash");
  app.add_flag("--probes", probes, "Fail if a probe was never hit");
  app.add_flag("--json", json, "Print the summary as one JSON object");
  CLI11_PARSE(app, argc, argv);
  views = views || options.logs || options.forced;
  if (one_view != views) {
    options.kind = one_view ? spindrift::sim::GateOptions::Kind::one_view : spindrift::sim::GateOptions::Kind::views;
  }
  if (one->count() > 0) {
    options.first = single;
    options.seeds = 1;
  }

  if (auto set = spindrift::log::set_levels(levels); !set) {
    std::cerr << set.error().to_string() << '\n';
    return 1;
  }
  for (const int signal : {SIGABRT, SIGVTALRM, SIGSEGV, SIGBUS}) std::signal(signal, name_seed);
  options.on_seed = [](std::uint64_t seed) {
    seed_under_way = seed;
    setitimer(ITIMER_VIRTUAL, &seed_cpu_time_max, nullptr);
  };
  if (crash_points.wanted) return run_all_crash_points(crash_points);
  if (!scripts.empty()) return run_scripts(scripts, options.verbose, options.first);
  if (torn) return run_torn(options.first, options.seeds);
  if (smaller->count() > 0) return run_minimize(to_minimize, options.split_rows);
  const double before = cpu_seconds();
  const spindrift::sim::GateResult result = spindrift::sim::run_gate(options);
  const double seconds = cpu_seconds() - before;

  const double per_hour = seconds > 0 ? static_cast<double>(result.seeds) * 3600 / seconds : 0;
  const double events_per_seed =
      result.seeds > 0 ? static_cast<double>(result.events) / static_cast<double>(result.seeds) : 0;
  if (json) {
    nlohmann::json summary{{"seeds", result.seeds},
                           {"events", result.events},
                           {"deliveries", result.deliveries},
                           {"seeds_per_hour_and_core", per_hour},
                           {"events_per_seed", events_per_seed},
                           {"hash", result.hash}};
    for (const auto& [name, hits] : result.probes) summary["probes"][name] = hits;
    if (result.failure)
      summary["failure"] = {
          {"seed", result.failure->seed}, {"invariant", result.failure->invariant}, {"what", result.failure->what}};
    std::cout << summary.dump() << "\n";
  } else {
    std::printf("%llu seeds, %llu events (%.0f a seed), %llu deliveries, %.0f seeds per hour and core, hash %016llx\n",
                static_cast<unsigned long long>(result.seeds), static_cast<unsigned long long>(result.events),
                events_per_seed, static_cast<unsigned long long>(result.deliveries), per_hour,
                static_cast<unsigned long long>(result.hash));
    for (const auto& [name, hits] : result.probes)
      std::printf("  %10llu  %s\n", static_cast<unsigned long long>(hits), name.c_str());
  }
  if (result.failure) {
    std::fprintf(stderr, "%s\nseed %llu%s: violated %s: %s\n", result.failure->options.c_str(),
                 static_cast<unsigned long long>(result.failure->seed), result.failure->split_rows ? " --split-rows" : "",
                 result.failure->invariant.c_str(), result.failure->what.c_str());
    return 1;
  }
  if (!probes) return 0;
  for (const auto& [name, hits] : result.probes) {
    if (hits > 0) continue;
    std::fprintf(stderr, "never met: %s\n", name.c_str());
    return 2;
  }
  return 0;
}
