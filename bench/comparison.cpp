// Comparisons and the options of their commands.
#include <spindrift/bench/comparison.hpp>

namespace spindrift::bench {

double all_streams(const TrafficResults& results) {
  double sum = 0;
  for (const StreamResult& stream : results) sum += stream.messages_per_second;
  return sum;
}

Parameters parameters_of(const TrafficRun& run) {
  return {{"members", std::uint64_t{run.members}}, {"bytes", run.message_bytes}, {"window", run.window}};
}

TrafficRun TrafficOptions::run() const {
  TrafficRun run;
  run.members = members;
  run.message_bytes = message_bytes;
  run.window = profile_for(message_bytes, window).window_messages;
  run.watch = duration();
  run.settings = overrides();
  return run;
}

void TrafficOptions::declare(Command& command) {
  command.seconds("How long one run is watched").settings();
  command.number("--members", members, "Number of members", 2, traffic_members_max);
  command.number("--size", message_bytes, "Payload bytes", 8, 1 << 24);
  command.number("--window", window, "Messages of one sender on their way (0: the configuration's)", 0, 1 << 20);
}

void Comparison::run(std::uint32_t repeats, FigureReport& report) {
  for (std::uint32_t repeat = 0; repeat < repeats; ++repeat) {
    std::vector<TrafficResults> results;
    for (const TrafficRun& each : runs) results.push_back(run_traffic(each));
    for (Question& question : questions) {
      question.figure.values.push_back(question.value(results[question.run]));
      if (question.limit) question.figure.limits.push_back(question.limit(results.front()));
    }
  }
  for (const Question& question : questions) report.add(question.figure);
}

}  // namespace spindrift::bench
