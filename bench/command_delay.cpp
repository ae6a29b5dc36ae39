// `spindrift bench delay`: what slow and silent senders cost the others, with null-sends and without.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/experiment.hpp>

namespace spindrift::bench {

namespace {

struct Delay {
  const char* name;
  std::optional<Duration> after;
};
constexpr std::array delays{Delay{"1 us", std::chrono::microseconds(1)}, Delay{"100 us", std::chrono::microseconds(100)},
                            Delay{"for ever", std::nullopt}};

double prompt_senders(const TrafficResults& results) { return results.front().prompt_per_second; }

/// The same senders where nobody is slow.
Measure share(std::uint32_t senders, std::uint32_t members) {
  return [=](const TrafficResults& results) { return first_stream(results) * senders / members; };
}

Result<void> run_delay_bench(const TrafficOptions& options) {
  const auto base = options.run();
  if (!base) return Error(base.error());
  const std::uint32_t half = options.members / 2;
  Experiment experiment;
  experiment.add(*base);
  for (const bool null_sends : {true, false}) {
    for (const Delay& delay : delays) {
      for (std::uint32_t slow = 1; slow <= half; slow += std::max(half - 1, 1U)) {  // one, and half of them
        TrafficRun run = *base;
        run.policy.null_sends = null_sends;
        run.slow_senders = slow;
        run.slow_after = delay.after;
        experiment.ask({{"senders that are not slow",
                         {{"members", std::uint64_t{run.members}},
                          {"bytes", run.message_bytes},
                          {"window", run.window},
                          {"null_sends", null_sends},
                          {"slow", std::uint64_t{slow}},
                          {"delay", std::string(delay.name)}},
                         "messages/s",
                         {},
                         {}},
                        experiment.add(run),
                        prompt_senders,
                        share(run.members - slow, run.members)});
      }
    }
  }
  return run_experiment(options.common, std::move(experiment));
}

}  // namespace

void add_delay_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<TrafficOptions>();
  options->members = 4;
  CLI::App* command =
      bench.add_subcommand("delay", "What slow and silent senders cost the others, with null-sends and without");
  add_traffic_options(*command, *options);
  command->footer("Examples:\n  spindrift bench delay\n  spindrift bench delay --members 8 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_delay_bench(*options); }); });
}

}  // namespace spindrift::bench
