// `spindrift bench subgroups`: what further subgroups cost, idle ones and busy ones.
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/experiment.hpp>

namespace spindrift::bench {

namespace {

struct SubgroupsOptions : TrafficOptions {
  std::vector<std::uint32_t> subgroups{1, 2, 5, 10, 20, 50};
};

Result<void> run_subgroups_bench(const SubgroupsOptions& options) {
  auto base = options.run();
  if (!base) return Error(base.error());
  base->in_turn = true;
  Experiment experiment;
  experiment.add(*base);
  for (const bool all : {false, true}) {
    for (const std::uint32_t count : options.subgroups) {
      if (all && count == 1) continue;  // the same as one active of one
      TrafficRun run = *base;
      run.streams.resize(count, Stream{.active = all});
      experiment.ask({{"traffic in several subgroups",
                       {{"members", std::uint64_t{run.members}},
                        {"bytes", run.message_bytes},
                        {"window", run.window},
                        {"subgroups", std::uint64_t{count}},
                        {"active", std::uint64_t{all ? count : 1}}},
                       "messages/s",
                       {},
                       {}},
                      experiment.add(run),
                      all_streams,
                      first_stream});
    }
  }
  return run_experiment(options.common, std::move(experiment));
}

}  // namespace

void add_subgroups_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<SubgroupsOptions>();
  CLI::App* command = bench.add_subcommand("subgroups", "Many subgroups, one or all of them active, beside a single one");
  add_traffic_options(*command, *options);
  command->add_option("--subgroups", options->subgroups, "Numbers of subgroups")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->footer(
      "Examples:\n  spindrift bench subgroups\n  spindrift bench subgroups --subgroups 50 --size 10240 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_subgroups_bench(*options); }); });
}

}  // namespace spindrift::bench
