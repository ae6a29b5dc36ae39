// `spindrift topic`: the topics of a domain, for programs and people without their C++ types.
#include <limits>
#include <memory>

#include <CLI/CLI.hpp>

#include "commands.hpp"
#include "exit_code.hpp"
#include "number_option.hpp"
#include "options.hpp"
#include "topic_option.hpp"
#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

const char* const pub_help =
    R"(Writes samples that are given as JSON, or one per line of standard input where none is given, and ends when every
participant has them. A sample has all fields of its type, but optionals; see `spindrift topic info`. Of several that are
given none is written unless all are good; of lines, those before the first that is not. It disposes of nothing in the end.

Examples:
  spindrift topic pub readings '{"sensor": 4, "value": 1.5}'
  spindrift topic pub readings < samples.txt)";
const char* const echo_help =
    R"(Prints the samples of a topic as they come, one per line: when it was written, by which node, and its fields as JSON;
and when an instance is disposed of, or has no writers any more. It reads writers of any partition and quality, and holds up
nobody: what it is too slow for it misses, and says so. Where a participant runs on this host it is an observer: no member of
the domain's group, which goes on while it is stopped. With --from last it is a participant, begins with what is kept for
late joiners, and reads writers alone that keep something (durability TRANSIENT_LOCAL or more).

Examples:
  spindrift topic echo readings
  spindrift topic echo readings --count 1 --timeout 5000 --json)";

/// One of the commands below `topic`.
class TopicCommand {
 public:
  TopicCommand(CLI::App& parent, Work& chosen, const CommandText& text, int (*run)(const TopicOptions&))
      : options_(std::make_shared<TopicOptions>()), command_(*add_command(parent, chosen, text, options_, run)) {
    add_domain_options(command_, *options_);
  }
  TopicCommand& with_topic() {
    command_.add_option("topic", options_->topic, "The topic's name")->type_name("TOPIC")->required();
    add_timeout_option(command_, *options_, "Wait so long for the topic, and for each sample");
    return *this;
  }
  TopicCommand& with_json(const std::string& prints) {
    add_json_option(command_, *options_, prints);
    return *this;
  }
  TopicCommand& with_count(const std::string& what) {
    command_.add_option("--count", options_->count, "End after this many " + what)
        ->type_name("N")
        ->check(number_from(std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()));
    return *this;
  }
  TopicCommand& with_as() {
    add_as_option(command_, *options_);
    return *this;
  }
  TopicCommand& with_from() {
    command_.add_option("--from", options_->from, "Begin with what is kept for late joiners")
        ->type_name("last")
        ->check(CLI::IsMember({"last"}));
    return *this;
  }
  TopicCommand& with_samples() {
    command_.add_option("samples", options_->samples, "Samples, each a JSON object; none: lines of standard input")
        ->type_name("JSON");
    return *this;
  }

 private:
  std::shared_ptr<TopicOptions> options_;
  CLI::App& command_;
};

}  // namespace

void add_topic_command(CLI::App& app, Work& chosen) {
  CLI::App* topic = app.add_subcommand("topic", "Look at the topics of a domain, read them and write to them");
  topic->require_subcommand(1);
  topic->footer(
      "pub, record and replay are participants of the domain while they run: without --config of this user's domain on\n"
      "this host, which they found if nobody has; the others only observe it where that suffices (--as). No C++ type is\n"
      "needed: participants announce theirs.\n\n"
      "Examples:\n  spindrift topic ls\n  spindrift topic echo readings\n\n" +
      exit_codes_text());
  const std::string lines = "Print one JSON object per line";
  TopicCommand(*topic, chosen, {"ls", "List the topics", "Prints the topics with their types, and how many write and read."},
               list_topics)
      .with_as()
      .with_json("Print them as JSON");
  TopicCommand(*topic, chosen, {"info", "Show a topic's type, and who writes and reads it", "Its fields with their kinds."},
               show_topic)
      .with_topic()
      .with_as()
      .with_json("Print it as JSON");
  TopicCommand(*topic, chosen, {"echo", "Print the samples of a topic", echo_help}, echo_topic)
      .with_topic()
      .with_from()
      .with_as()
      .with_count("lines")
      .with_json(lines);
  TopicCommand(*topic, chosen, {"pub", "Write samples to a topic", pub_help}, publish_to_topic).with_topic().with_samples();
  const std::string each_second =
      "Prints a line per second until it is told to end, as an observer where a participant runs on this host.";
  const auto add_measure = [&](const char* name, const char* description, int (*run)(const TopicOptions&)) {
    TopicCommand(*topic, chosen, {name, description, each_second}, run)
        .with_topic()
        .with_as()
        .with_count("lines")
        .with_json(lines);
  };
  add_measure("hz", "Measure how often samples come", measure_rate);
  add_measure("bw", "Measure how many bytes come", measure_bandwidth);
  add_measure("delay", "Measure how old samples are when they come", measure_delay);
  add_recording_commands(*topic, chosen);
}

}  // namespace spindrift::tools
