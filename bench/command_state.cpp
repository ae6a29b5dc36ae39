// `spindrift bench state`: what a large replicated object costs those that go on, beside the same group with nothing to do.
#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/large_state.hpp>

namespace spindrift::bench {

namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20U;

struct StateOptions : BenchOptions {
  StateOptions() {
    seconds = 3;
    repeats = 3;
  }
  std::string directory = ".";
  std::uint32_t members = 3;
  std::uint64_t mebibytes = 1024;
};

void append_ms(std::vector<double>& to, const std::vector<std::uint64_t>& ns) {
  for (const std::uint64_t each : ns) to.push_back(static_cast<double>(each) * 1e-6);
}

/// All runs' times of one phase.
struct PhaseTimes {
  std::vector<double> messages_ms{}, calls_ms{}, seconds{};
};

void run_state_bench(const StateOptions& options, FigureReport& report) {
  const LargeStateRun run{options.directory, options.members, options.mebibytes * mebibyte, options.duration(),
                          options.overrides()};
  std::array<PhaseTimes, state_phases> phases{};
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    const auto times = large_state_times(run);
    for (std::size_t i = 0; i < phases.size(); ++i) {
      append_ms(phases[i].messages_ms, times[i].messages_ns);
      append_ms(phases[i].calls_ms, times[i].calls_ns);
      phases[i].seconds.push_back(times[i].seconds);
    }
  }
  const PhaseTimes& quiet = phases[static_cast<std::size_t>(StatePhase::quiet)];
  for (const auto& [name, phase] : {std::pair("a checkpoint is made", StatePhase::checkpoint),
                                    {"a newcomer is given it", StatePhase::newcomer}}) {
    const PhaseTimes& busy = phases[static_cast<std::size_t>(phase)];
    const Parameters parameters{
        {"members", std::uint64_t{options.members}}, {"MiB", options.mebibytes}, {"while", std::string(name)}};
    report_times(report, "message beside a large state", parameters, busy.messages_ms, quiet.messages_ms);
    report_times(report, "call of a large state", parameters, busy.calls_ms, quiet.calls_ms);
    report.add({"large state on its way", parameters, "s", busy.seconds});
  }
}

}  // namespace

void add_state_command(const Commands& to) {
  auto options = std::make_shared<StateOptions>();
  Command command(to, "state", "How long messages wait while a large replicated object is saved, or given to a newcomer",
                  "  spindrift bench state --directory /var/tmp\n"
                  "  spindrift bench state --members 2 --mib 64 --json -",
                  options, run_state_bench);
  command.seconds("How long to watch before, with nothing else to do").settings();
  command->add_option("--directory", options->directory, "On the disk of the journals; what is made there is removed again")
      ->capture_default_str();
  command.number("--members", options->members, "Members, of which the last comes later", 2, 8);
  command.number("--mib", options->mebibytes, "MiB of the object", 1, 16 * 1024);
}

}  // namespace spindrift::bench
