// An experiment: several runs of traffic that differ in one thing, by turns in every repeat, and questions about them. What
// the machine does meanwhile falls on all runs alike; so each figure stands beside that of the run that it is compared with.
#pragma once

#include <functional>
#include <vector>

#include <spindrift/bench/command_options.hpp>
#include <spindrift/bench/traffic.hpp>

namespace spindrift::bench {

using TrafficResults = std::vector<StreamResult>;
using Measure = std::function<double(const TrafficResults&)>;

/// One figure: `value` of the run at `run`, beside `limit` of the first run; without a `limit` it stands alone.
struct Question {
  Figure figure;
  std::size_t run = 0;
  Measure value;
  Measure limit{};
};

struct Experiment {
  std::vector<TrafficRun> runs;
  std::vector<Question> questions;

  /// Adds a run; the questions about it follow.
  std::size_t add(const TrafficRun& run) {
    runs.push_back(run);
    return runs.size() - 1;
  }
  void ask(Question question) { questions.push_back(std::move(question)); }
};

/// Messages per second of all streams together.
[[nodiscard]] double all_streams(const TrafficResults& results);
[[nodiscard]] inline double first_stream(const TrafficResults& results) { return results.front().messages_per_second; }

/// What the experiments' commands have in common.
struct TrafficOptions {
  CommonOptions common;
  std::uint32_t members = 3;
  std::uint64_t message_bytes = 1024;
  std::uint64_t window = 0;  ///< 0: what a user gets

  TrafficOptions() {
    common.seconds = 0.5;
    common.repeats = 5;
  }

  /// The traffic that all runs of the experiment start from. Errors: bad_argument.
  [[nodiscard]] Result<TrafficRun> run() const;
};

/// Adds --json, --repeat, --seconds, --set, --members, --size and --window; `options` holds the defaults.
void add_traffic_options(CLI::App& command, TrafficOptions& options);

/// Runs all of it `repeats` times, then reports. Errors: the first failed run's.
[[nodiscard]] Result<void> run_experiment(const CommonOptions& options, Experiment experiment);
/// The same into a report that others write to as well.
[[nodiscard]] Result<void> run_experiment(const CommonOptions& options, Experiment experiment, Report& report);

}  // namespace spindrift::bench
