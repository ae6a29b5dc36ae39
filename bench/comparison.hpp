// Several runs of traffic that differ in one thing, by turns in every repeat, and questions about them. What the machine
// does meanwhile falls on all runs alike; so each figure stands beside that of the run that it is compared with.
#pragma once

#include <functional>
#include <string>
#include <utility>
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

struct Comparison {
  std::vector<TrafficRun> runs;
  std::vector<Question> questions;

  /// Adds a run; the questions about it follow.
  std::size_t add(const TrafficRun& run) {
    runs.push_back(run);
    return runs.size() - 1;
  }
  void ask(Question question) { questions.push_back(std::move(question)); }
  /// Runs all of it `repeats` times, then reports. Throws the first failed run's error.
  void run(std::uint32_t repeats, FigureReport& report);
};

/// Messages per second of all streams together.
[[nodiscard]] double all_streams(const TrafficResults& results);
[[nodiscard]] inline double first_stream(const TrafficResults& results) { return results.front().messages_per_second; }

/// The parameters that tell runs of one size apart from those of others: members, bytes, window.
[[nodiscard]] Parameters parameters_of(const TrafficRun& run);

/// The options that the commands of comparisons have in common.
struct TrafficOptions : BenchOptions {
  TrafficOptions() {
    seconds = 0.5;
    repeats = 5;
  }
  std::uint32_t members = 3;
  std::uint64_t message_bytes = 1024;
  std::uint64_t window = 0;  ///< 0: what a user gets

  /// The traffic that all runs of the comparison start from. Throws Exception: bad_argument.
  [[nodiscard]] TrafficRun run() const;
  /// Adds --seconds, --set, --members, --size and --window.
  void declare(Command& command);
};

}  // namespace spindrift::bench
