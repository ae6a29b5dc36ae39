// Experiments and the options of their commands.
#include <spindrift/bench/experiment.hpp>

#include <CLI/CLI.hpp>

namespace spindrift::bench {

double all_streams(const TrafficResults& results) {
  double sum = 0;
  for (const StreamResult& stream : results) sum += stream.messages_per_second;
  return sum;
}

Result<TrafficRun> TrafficOptions::run() const {
  auto settings = parse_settings(common.settings);
  if (!settings) return Error(settings.error());
  TrafficRun run;
  run.members = members;
  run.message_bytes = message_bytes;
  run.window = profile_for(message_bytes, window).window_messages;
  run.watch = common.duration();
  run.settings = std::move(settings).value();
  return run;
}

void add_traffic_options(CLI::App& command, TrafficOptions& options) {
  add_common_options(command, options.common);
  add_seconds_option(command, options.common, "How long one run is watched");
  add_settings_option(command, options.common);
  command.add_option("--members", options.members, "Number of members")
      ->check(CLI::Range(std::size_t{2}, traffic_members_max))
      ->capture_default_str();
  command.add_option("--size", options.message_bytes, "Payload bytes")->check(CLI::Range(8, 1 << 24))->capture_default_str();
  command.add_option("--window", options.window, "Messages of one sender on their way (default: the configuration's)")
      ->check(CLI::Range(1, 1 << 20));
}

Result<void> run_experiment(const CommonOptions& options, Experiment experiment) {
  auto report = Report::open(options.json);
  if (!report) return Error(report.error());
  return run_experiment(options, std::move(experiment), *report);
}

Result<void> run_experiment(const CommonOptions& options, Experiment experiment, Report& report) {
  for (std::uint32_t repeat = 0; repeat < options.repeats; ++repeat) {
    std::vector<TrafficResults> results;
    for (const TrafficRun& run : experiment.runs) {
      auto result = run_traffic(run);
      if (!result) return Error(result.error());
      results.push_back(std::move(result).value());
    }
    for (Question& question : experiment.questions) {
      question.figure.values.push_back(question.value(results[question.run]));
      if (question.limit) question.figure.limits.push_back(question.limit(results.front()));
    }
  }
  for (const Question& question : experiment.questions) report.add(question.figure);
  return {};
}

}  // namespace spindrift::bench
