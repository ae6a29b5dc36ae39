// `spindrift bench upcall`: what a slow delivery handler costs its own subgroup, and the others.
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/experiment.hpp>

namespace spindrift::bench {

namespace {

struct Handler {
  const char* name;
  Duration each;
  Spending by;
};
constexpr std::array handlers{Handler{"computes 1 us", std::chrono::microseconds(1), Spending::computing},
                              Handler{"computes 100 us", std::chrono::microseconds(100), Spending::computing},
                              Handler{"computes 1 ms", std::chrono::milliseconds(1), Spending::computing},
                              Handler{"waits 100 us", std::chrono::microseconds(100), Spending::waiting},
                              Handler{"waits 1 ms", std::chrono::milliseconds(1), Spending::waiting}};

struct UpcallOptions : TrafficOptions {
  std::uint32_t subgroups = 2;
};

/// Every handler on the poller's thread, and on one of its own.
std::vector<std::pair<Handler, bool>> cases() {
  std::vector<std::pair<Handler, bool>> cases;
  for (const Handler& handler : handlers) {
    for (const bool own_thread : {false, true}) cases.emplace_back(handler, own_thread);
  }
  return cases;
}

double other_streams(const TrafficResults& results) { return all_streams(results) - first_stream(results); }

Result<void> run_upcall_bench(const UpcallOptions& options) {
  auto base = options.run();
  if (!base) return Error(base.error());
  base->streams.resize(options.subgroups);
  Experiment experiment;
  experiment.add(*base);
  for (const auto& [handler, own_thread] : cases()) {
    TrafficRun run = *base;
    run.streams.front().handling = handler.each;
    run.streams.front().handling_by = handler.by;
    run.streams.front().own_thread = own_thread;
    const std::size_t place = experiment.add(run);
    for (const bool others : {false, true}) {
      experiment.ask({{"a slow handler in one subgroup",
                       {{"members", std::uint64_t{run.members}},
                        {"bytes", run.message_bytes},
                        {"window", run.window},
                        {"subgroups", std::uint64_t{options.subgroups}},
                        {"handler", std::string(handler.name)},
                        {"thread", std::string(own_thread ? "own" : "shared")},
                        {"rate of", std::string(others ? "the others" : "its own")}},
                       "messages/s",
                       {},
                       {}},
                      place,
                      others ? other_streams : first_stream,
                      others ? other_streams : first_stream});
    }
  }
  return run_experiment(options.common, std::move(experiment));
}

}  // namespace

void add_upcall_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<UpcallOptions>();
  options->common.seconds = 1;  // a batch of a slow handler takes a good part of it
  CLI::App* command = bench.add_subcommand("upcall", "What a slow delivery handler costs its own subgroup, and the others");
  add_traffic_options(*command, *options);
  command->add_option("--subgroups", options->subgroups, "Number of subgroups; the handler of the first is slow")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command->footer("Examples:\n  spindrift bench upcall\n  spindrift bench upcall --subgroups 4 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_upcall_bench(*options); }); });
}

}  // namespace spindrift::bench
