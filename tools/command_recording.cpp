// `spindrift topic record` and `replay` as the command line has them.
#include <limits>
#include <memory>

#include <CLI/CLI.hpp>

#include "number_option.hpp"
#include "options.hpp"
#include "topic_option.hpp"
#include "topic_plot.hpp"
#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

constexpr double seconds_max = 1e9;

const char* const record_help =
    R"(Writes the samples of topics to an MCAP file, until a signal, --count or --seconds ends it: any program that reads
MCAP has them, as CDR with the types as IDL. It reads writers of any partition and quality, and holds up nobody: of what it
is too slow for it keeps 64 MiB of each topic, and says how many samples are missing. If it is killed, the file lacks the
last second at most. That instances are disposed of is not recorded.

Examples:
  spindrift topic record readings --output flight.mcap
  spindrift topic record --all --seconds 60 --output minute.mcap)";
const char* const replay_help =
    R"(Writes the samples of a recording to their topics, as far apart as they came, with the times of now. It makes the
topics as they were, waits until --readers readers match, and ends when every participant has all. All of the file is read
before it begins: one that is damaged is refused with the place, one that was cut off is replayed up to there, and the code
is 1 then.

Examples:
  spindrift topic replay flight.mcap --rate 2
  spindrift topic replay flight.mcap --info)";

const char* const plot_help =
    R"(On a terminal it draws a chart, which is renewed; elsewhere it prints a line for each point. A bool is 0 or 1, an enum
its integer; samples that have no number there are passed over.

Examples:
  spindrift topic plot readings value
  spindrift topic plot track position.x --file flight.mcap)";

/// An option that is a number of seconds.
template <class Value>
void add_seconds(CLI::App& command, const std::string& name, Value& value, const std::string& what, double least) {
  command.add_option(name, value, what)->type_name("SECONDS")->check(number_from(least, seconds_max));
}

void add_record(CLI::App& topic, Work& chosen) {
  const auto options = std::make_shared<RecordOptions>();
  CLI::App& command =
      *add_command(topic, chosen, {"record", "Record topics in a file", record_help}, options, record_topics);
  command.add_option("topics", options->topics, "The topics' names")->type_name("TOPIC");
  command.add_flag("--all", options->all, "All topics of the domain, also those to come");
  command.add_option("--output", options->file, "The file, which must not be there")
      ->type_name("FILE")
      ->required()
      ->check(named_file, "");
  command.add_option("--count", options->count, "End after this many samples")
      ->type_name("N")
      ->check(number_from(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
  add_seconds(command, "--seconds", options->seconds, "End after so long", 0.001);
  command.add_option("--from", options->from, "Begin with what is kept for late joiners")
      ->type_name("last")
      ->check(CLI::IsMember({"last"}));
  options->as = "participant";  // it misses less, and each topic that is observed costs its members a copy
  add_as_option(command, *options);
  add_timeout_option(command, *options, "Wait so long for topics that are not there");
  add_domain_options(command, *options);
}

void add_replay(CLI::App& topic, Work& chosen) {
  const auto options = std::make_shared<TopicReplayOptions>();
  CLI::App& command =
      *add_command(topic, chosen, {"replay", "Write what was recorded", replay_help}, options, replay_topics);
  command.add_option("file", options->file, "The recording")->type_name("FILE")->required()->check(named_file, "");
  command.add_option("--topics", options->topics, "These topics of it alone, separated by commas")
      ->type_name("TOPIC,…")
      ->delimiter(',');
  command.add_option("--rate", options->rate, "So many times as fast as it came")
      ->type_name("FACTOR")
      ->check(number_from(0.001, 1e6));
  add_seconds(command, "--from", options->from_s, "Begin so far behind its beginning", 0);
  add_seconds(command, "--to", options->to_s, "End so far behind its beginning", 0);
  command.add_flag("--loop", options->loop, "Begin again at its end, until a signal");
  command
      .add_option("--readers", options->readers, "Begin when so many readers match, 1 where nothing is given; 0: at once")
      ->type_name("N")
      ->check(number_from(std::uint64_t{0}, std::uint64_t{1'000'000}));
  command.add_flag("--info", options->info, "Print what it holds, and replay nothing");
  add_json_option(command, *options, "With --info: print it as JSON");
  add_timeout_option(command, *options, "Wait so long for readers, and for participants that take nothing");
  add_domain_options(command, *options);
}

void add_plot(CLI::App& topic, Work& chosen) {
  const auto options = std::make_shared<PlotOptions>();
  CLI::App& command = *add_command(topic, chosen, {"plot", "Draw a field over time", plot_help}, options, plot_field);
  command.add_option("topic", options->topic, "The topic's name")->type_name("TOPIC")->required();
  command.add_option("field", options->field, "The path of a numeric field: position.x, counts[1]")
      ->type_name("FIELD")
      ->required();
  command.add_option("--file", options->file, "Of a recording, in place of what comes")
      ->type_name("FILE")
      ->check(named_file, "");
  add_seconds(command, "--window", options->window_s, "Draw the last so long of what comes", 0.1);
  command.add_option("--count", options->count, "End after this many points")
      ->type_name("N")
      ->check(number_from(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
  add_json_option(command, *options, "Print one JSON object per line");
  add_as_option(command, *options);
  add_timeout_option(command, *options, "Wait so long for the topic, and for each sample");
  add_domain_options(command, *options);
}

}  // namespace

void add_recording_commands(CLI::App& topic, Work& chosen) {
  add_record(topic, chosen);
  add_replay(topic, chosen);
  add_plot(topic, chosen);
}

}  // namespace spindrift::tools
