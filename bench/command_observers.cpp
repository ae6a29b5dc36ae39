// `spindrift bench observers`: what observers cost the senders of a busy subgroup, whether they read or not.
#include <fmt/format.h>

#include <spindrift/bench/comparison.hpp>

namespace spindrift::bench {

namespace {

struct ObserversOptions : TrafficOptions {
  std::vector<std::uint32_t> observers{2, 8, 64};
};

void run_observers_bench(const ObserversOptions& options, FigureReport& report) {
  const TrafficRun base = options.run();
  Comparison comparison;
  comparison.add(base);
  const auto ask = [&](Watchers watchers) {
    TrafficRun run = base;
    run.watchers = watchers;
    Parameters parameters = parameters_of(run);
    parameters.emplace_back("reading", std::uint64_t{watchers.reading});
    parameters.emplace_back("standing", std::uint64_t{watchers.standing});
    parameters.emplace_back("reading at", watchers.idle_class ? "idle priority" : "the senders' priority");
    const std::size_t place = comparison.add(run);
    comparison.ask({{"traffic under observation", parameters, "messages/s"}, place, all_streams, first_stream});
    if (watchers.reading == 0) return;
    comparison.ask({{"messages that a reading observer gets", parameters, "percent"},
                    place,
                    [](const TrafficResults& results) { return 100 * results.front().watched_share; }});
  };
  ask({.reading = 0, .standing = 1});
  for (const std::uint32_t count : options.observers) {
    for (const bool idle : {false, true}) ask({.reading = count / 2, .standing = count - count / 2, .idle_class = idle});
  }
  comparison.run(options.repeats, report);
}

}  // namespace

void add_observers_command(const Commands& to) {
  auto options = std::make_shared<ObserversOptions>();
  Command command(to, "observers",
                  "Observers of a busy subgroup, half of which read nothing, beside none; each accounts for every message",
                  "  spindrift bench observers\n  spindrift bench observers --observers 64 --size 10240 --json -", options,
                  run_observers_bench);
  options->declare(command);
  command.list("--observers", options->observers, "Numbers of observers", 2, 200);
}

}  // namespace spindrift::bench
