// `spindrift bench viewchange`: how long a death and a join hold up a group under load.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/viewchange.hpp>

namespace spindrift::bench {

namespace {

struct ViewChangeOptions {
  CommonOptions common;
  std::uint32_t members = 4;
  std::uint32_t rounds = 30;
  std::uint64_t message_bytes = 1024;
  std::vector<std::uint64_t> state_bytes{0, 1 << 20};
};

/// The value at or below which `fraction` of the sorted values lie.
double at_fraction(const std::vector<double>& sorted, double fraction) {
  return sorted[static_cast<std::size_t>(fraction * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void report_percentiles(Report& report, const std::string& bench, std::vector<std::pair<std::string, Parameter>> parameters,
                        std::vector<double> values, std::vector<double> limits) {
  std::sort(values.begin(), values.end());
  std::sort(limits.begin(), limits.end());
  parameters.emplace_back("samples", std::uint64_t{values.size()});
  for (const auto& [name, fraction] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"max", 1.0}}) {
    Figure figure{bench, parameters, "ms", {at_fraction(values, fraction)}, {}};
    figure.parameters.emplace_back("percentile", std::string(name));
    if (!limits.empty()) figure.limits = {at_fraction(limits, fraction)};
    report.add(figure);
  }
}

Result<void> run_view_change_bench(const ViewChangeOptions& options) {
  auto settings = parse_settings(options.common.settings);
  if (!settings) return Error(settings.error());
  auto report = Report::open(options.common.json);
  if (!report) return Error(report.error());
  const GroupShape shape{options.members, options.members, profile_for(options.message_bytes, 100, 0),
                         std::move(settings).value()};
  for (const std::uint64_t state_bytes : options.state_bytes) {
    for (const bool leader : {false, true}) {
      const auto result = run_view_changes({shape, options.message_bytes, state_bytes, options.rounds, leader});
      if (!result) return Error(result.error());
      const std::vector<std::pair<std::string, Parameter>> parameters{
          {"members", std::uint64_t{options.members}},
          {"bytes", options.message_bytes},
          {"state", state_bytes},
          {"killed", std::string(leader ? "leader" : "follower")}};
      report_percentiles(*report, "deliveries stand still after a death", parameters, result->kill_gaps_ms,
                         result->steady_gaps_ms);
      report_percentiles(*report, "deliveries stand still at a join", parameters, result->join_gaps_ms,
                         result->steady_gaps_ms);
      report_percentiles(*report, "newcomer's start to its first delivery", parameters, result->catch_up_ms, {});
    }
  }
  return {};
}

}  // namespace

void add_view_change_command(CLI::App& bench, tools::Work& chosen) {
  auto options = std::make_shared<ViewChangeOptions>();
  CLI::App* command =
      bench.add_subcommand("viewchange", "How long deliveries stand still when a member is killed, and when it comes back");
  command
      ->add_option("--json", options->common.json,
                   "Write one JSON object per figure to this file; -: to standard output, without the table")
      ->type_name("FILE|-");
  command->add_option("--members", options->members, "Number of members")->check(CLI::Range(3, 16))->capture_default_str();
  command->add_option("--rounds", options->rounds, "Deaths and joins of each kind")
      ->check(CLI::Range(1, 500))
      ->capture_default_str();
  command->add_option("--size", options->message_bytes, "Payload bytes")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--state", options->state_bytes, "Bytes of the state that a newcomer is given")
      ->delimiter(',')
      ->check(CLI::Range(0, 1 << 28));
  add_settings_option(*command, options->common);
  command->footer("Examples:\n  spindrift bench viewchange\n  spindrift bench viewchange --rounds 100 --state 0 --json -");
  command->callback([options, &chosen] { choose(chosen, [options] { return run_view_change_bench(*options); }); });
}

}  // namespace spindrift::bench
