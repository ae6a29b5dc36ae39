// `spindrift bench threads`: several application threads of every member send in one subgroup.
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/experiment.hpp>

namespace spindrift::bench {

namespace {

struct ThreadsOptions : TrafficOptions {
  std::vector<std::uint32_t> threads{1, 2, 4, 8};
};

Result<void> run_threads_bench(const ThreadsOptions& options) {
  const auto base = options.run();
  if (!base) return Error(base.error());
  Experiment experiment;
  experiment.add(*base);
  for (const std::uint32_t threads : options.threads) {
    TrafficRun run = *base;
    run.streams.front().threads = threads;
    experiment.ask({{"application threads in one subgroup",
                     {{"members", std::uint64_t{run.members}},
                      {"bytes", run.message_bytes},
                      {"window", run.window},
                      {"threads", std::uint64_t{threads}}},
                     "messages/s",
                     {},
                     {}},
                    experiment.add(run),
                    first_stream,
                    first_stream});
  }
  return run_experiment(options.common, std::move(experiment));
}

}  // namespace

void add_threads_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ThreadsOptions>();
  options->members = 2;
  CLI::App* command = bench.add_subcommand("threads", "Several application threads of every member send, beside one thread");
  add_traffic_options(*command, *options);
  command->add_option("--threads", options->threads, "Numbers of threads of each member")
      ->delimiter(',')
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->footer(
      "Examples:\n  spindrift bench threads\n  spindrift bench threads --threads 16 --size 100 --window 1000 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_threads_bench(*options); }); });
}

}  // namespace spindrift::bench
