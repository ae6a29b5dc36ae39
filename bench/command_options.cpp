// `spindrift bench` itself, and what its subcommands share.
#include <spindrift/bench/command_options.hpp>

#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace spindrift::bench {

void add_common_options(CLI::App& command, CommonOptions& options) {
  command
      .add_option("--json", options.json,
                  "Write one JSON object per figure to this file; -: to standard output, without the table")
      ->type_name("FILE|-");
  command.add_option("--repeat", options.repeats, "Measurements per figure")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

void add_seconds_option(CLI::App& command, CommonOptions& options, const std::string& meaning) {
  command.add_option("--seconds", options.seconds, meaning)->check(CLI::Range(0.001, 3600.0))->capture_default_str();
}

void add_senders_option(CLI::App& command, std::vector<Senders>& senders) {
  const std::map<std::string, Senders> names{{"one", Senders::one}, {"half", Senders::half}, {"all", Senders::all}};
  command.add_option("--senders", senders, "Who sends: one, half, all (default one,all)")
      ->delimiter(',')
      ->transform(CLI::CheckedTransformer(names));
}

void add_settings_option(CLI::App& command, CommonOptions& options) {
  command.add_option("--set", options.settings, "A configuration value for all members")->type_name("SECTION/key=value");
}

Result<std::vector<ConfigOverride>> parse_settings(const std::vector<std::string>& settings) {
  std::vector<ConfigOverride> overrides;
  for (const std::string& setting : settings) {
    const auto equals = setting.find('=');
    if (equals == std::string::npos) {
      return Error(ErrorKind::bad_argument, fmt::format("--set {}: no '='", setting)).fix("write SECTION/key=value");
    }
    overrides.push_back({setting.substr(0, equals), setting.substr(equals + 1), "--set"});
  }
  return overrides;
}

Result<void> report_repeated(Report& report, std::uint32_t repeats, Figure figure,
                             const std::function<Result<double>()>& measure) {
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
    const Result<double> value = measure();
    if (!value) return Error(value.error());
    figure.values.push_back(*value);
  }
  report.add(figure);
  return {};
}

void choose(tools::Work& chosen, std::function<Result<void>()> run) {
  chosen = [run = std::move(run)] {
    value_or_throw(run());
    return 0;
  };
}

}  // namespace spindrift::bench

namespace spindrift::tools {

void add_bench_command(CLI::App& app, Work& chosen) {
  CLI::App* command = app.add_subcommand("bench", "Measure this machine's groups beside what the machine allows");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n  spindrift bench multicast --quick\n  spindrift bench idle --json -\n\n"
      "What each figure means: docs/bench.md");
  bench::add_multicast_command(*command, chosen);
  bench::add_limits_command(*command, chosen);
  bench::add_ring_command(*command, chosen);
  bench::add_idle_command(*command, chosen);
  bench::add_start_command(*command, chosen);
  bench::add_view_change_command(*command, chosen);
  bench::add_subgroups_command(*command, chosen);
  bench::add_delay_command(*command, chosen);
  bench::add_upcall_command(*command, chosen);
  bench::add_batching_command(*command, chosen);
  bench::add_threads_command(*command, chosen);
  bench::add_object_command(*command, chosen);
  bench::add_connect_command(*command, chosen);
  bench::add_wire_command(*command, chosen);
  bench::add_model_command(*command, chosen);
  bench::add_resident_member_command(*command, chosen);
}

}  // namespace spindrift::tools
