// `spindrift bench subgroups`: what further subgroups cost, idle ones and busy ones, and whether busy ones get equal shares.
#include <fmt/format.h>

#include <spindrift/bench/comparison.hpp>

namespace spindrift::bench {

namespace {

struct SubgroupsOptions : TrafficOptions {
  std::vector<std::uint32_t> subgroups{1, 2, 5, 10, 20, 50};
};

/// Each subgroup's part of all that was delivered, beside an equal part.
void ask_for_shares(Comparison& comparison, std::size_t run, const Parameters& parameters, std::uint32_t count) {
  for (std::uint32_t number = 0; number < count; ++number) {
    Parameters of_one = parameters;
    of_one.emplace_back("subgroup", numbered_subgroup(number));
    comparison.ask({{"share of a busy subgroup", of_one, "percent"},
                    run,
                    [number](const TrafficResults& results) {
                      const double all = all_streams(results);
                      return all == 0 ? 0 : 100 * results[number].messages_per_second / all;
                    },
                    [count](const TrafficResults&) { return 100.0 / count; }});
  }
}

void run_subgroups_bench(const SubgroupsOptions& options, FigureReport& report) {
  TrafficRun base = options.run();
  base.in_turn = true;
  Comparison comparison;
  comparison.add(base);
  std::vector<std::pair<std::size_t, Parameters>> busy;
  for (const bool all : {false, true}) {
    for (const std::uint32_t count : options.subgroups) {
      if (all && count == 1) continue;  // the same as one active of one
      TrafficRun run = base;
      run.streams.resize(count, Stream{.active = all});
      Parameters parameters = parameters_of(run);
      parameters.emplace_back("subgroups", std::uint64_t{count});
      const std::size_t place = comparison.add(run);
      if (all) busy.emplace_back(place, parameters);
      parameters.emplace_back("active", std::uint64_t{all ? count : 1});
      comparison.ask({{"traffic in several subgroups", parameters, "messages/s"}, place, all_streams, first_stream});
    }
  }
  for (const auto& [place, parameters] : busy)
    ask_for_shares(comparison, place, parameters, static_cast<std::uint32_t>(comparison.runs[place].streams.size()));
  comparison.run(options.repeats, report);
}

}  // namespace

void add_subgroups_command(const Commands& to) {
  auto options = std::make_shared<SubgroupsOptions>();
  Command command(to, "subgroups", "Many subgroups, one or all of them active, beside a single one; and each one's share",
                  "  spindrift bench subgroups\n  spindrift bench subgroups --subgroups 50 --size 10240 --json -", options,
                  run_subgroups_bench);
  options->declare(command);
  command.list("--subgroups", options->subgroups, "Numbers of subgroups", 1, 64);
}

}  // namespace spindrift::bench
