// `spindrift bench threads`: several application threads of one member, or of every one, send in one subgroup.
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/experiment.hpp>
#include <spindrift/bench/matrix.hpp>

namespace spindrift::bench {

namespace {

struct ThreadsOptions : TrafficOptions {
  std::vector<std::uint32_t> threads{1, 2, 4, 8};
  std::vector<Senders> senders{Senders::one, Senders::all};
};

Result<void> measure_threads(const ThreadsOptions& options, Senders senders, Report& report) {
  auto base = options.run();
  if (!base) return Error(base.error());
  const std::uint32_t sending = sender_count(senders, base->members);
  base->slow_senders = base->members - sending;  // and these never send
  Experiment experiment;
  experiment.add(*base);
  for (const std::uint32_t threads : options.threads) {
    TrafficRun run = *base;
    run.streams.front().threads = threads;
    experiment.ask({{"application threads in one subgroup",
                     {{"members", std::uint64_t{run.members}},
                      {"senders", std::uint64_t{sending}},
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
  return run_experiment(options.common, std::move(experiment), report);
}

Result<void> run_threads_bench(const ThreadsOptions& options) {
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  for (const Senders senders : options.senders) {
    auto measured = measure_threads(options, senders, *report);
    if (!measured) return measured;
  }
  return {};
}

}  // namespace

void add_threads_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ThreadsOptions>();
  options->members = 2;
  CLI::App* command =
      bench.add_subcommand("threads", "Several application threads of one or every member send, beside one thread");
  add_traffic_options(*command, *options);
  command->add_option("--threads", options->threads, "Numbers of threads of each member")
      ->delimiter(',')
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  add_senders_option(*command, options->senders);
  command->footer(
      "Examples:\n  spindrift bench threads\n  spindrift bench threads --threads 16 --size 100 --window 1000 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_threads_bench(*options); }); });
}

}  // namespace spindrift::bench
