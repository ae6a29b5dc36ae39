// `spindrift topic echo`: the samples of a topic, as lines.
#include <cstdio>

#include <fmt/format.h>

#include "escaped.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "moment.hpp"
#include "output.hpp"
#include "topic_session.hpp"

namespace spindrift::tools {
namespace {

constexpr int echo_json_version = 1;

const char* state_text(std::uint32_t state) {
  if (state == topics::instance_alive) return "alive";
  return state == topics::instance_disposed ? "disposed" : "no writers";
}

/// One line, with the fields of the sample in their order.
std::string dumped(const topics::SampleJson& json) {
  return harmless_json(json.dump(-1, ' ', false, topics::SampleJson::error_handler_t::replace));
}

std::string json_line(const topics::DynamicRead& read, std::uint64_t lost) {
  const topics::ReadSample& about = read.about;
  topics::SampleJson line;
  line["version"] = echo_json_version;
  line["time"] = moment_text(about.source_timestamp);
  line["node"] = about.writer.node;
  line["writer"] = about.writer.number;
  line["instance"] = about.instance.to_string();
  line["state"] = state_text(about.instance_state);
  line["lost"] = lost;
  line["data"] = read.sample ? read.sample->json() : topics::SampleJson(nullptr);
  return dumped(line);
}

std::string text_line(const topics::DynamicRead& read) {
  const std::string what = read.sample ? dumped(read.sample->json()) : state_text(read.about.instance_state);
  return fmt::format("{} node {}: {}", moment_text(read.about.source_timestamp), read.about.writer.node, what);
}

/// Behind a gap the next sample tells how many are missing, if it comes.
constexpr std::chrono::seconds quiet_time(1);

class EchoPrinter {
 public:
  EchoPrinter(const TopicOptions& options, topics::DynamicReader& reader) : options_(options), reader_(reader) {}

  /// Prints what has come. How many lines that was.
  std::size_t print() {
    const std::vector<topics::DynamicRead> come = reader_.take();
    const std::uint64_t lost = reader_.lost();
    if (lost > told_ && !options_.json) {
      fmt::print(stderr, "spindrift: {}\n", missing_text(lost - told_));
    }
    std::size_t lines = 0;
    for (const topics::DynamicRead& each : come) {
      if (done()) break;
      value_or_throw(print_line(options_.json ? json_line(each, lost - told_) : text_line(each)));
      told_ = lost;
      ++lines;
      ++printed_;
    }
    if (!options_.json) told_ = lost;
    return lines;
  }
  /// Nothing came for a while, or nothing will: says, once, if more is missing than was told.
  void rest() {
    const bool more = reader_.more_may_be_lost();
    if (more && !told_more_) fmt::print(stderr, "spindrift: {}\n", more_missing_text);
    told_more_ = more;
  }
  [[nodiscard]] bool done() const { return options_.count && printed_ >= *options_.count; }

 private:
  const TopicOptions& options_;
  topics::DynamicReader& reader_;
  std::uint64_t printed_ = 0;
  std::uint64_t told_ = 0;  // of the samples that were lost
  bool told_more_ = false;
};

}  // namespace

int echo_topic(const TopicOptions& options) {
  TopicSession session(options, TopicUse::reads);
  const auto topic = session.find();
  if (!topic) return number(ExitCode::interrupted);
  topics::DynamicReader reader = session.read(*topic, {.from_last = options.from == "last"});
  EchoPrinter printer(options, reader);
  auto until = session.patience();
  auto rest_at = TopicSession::Clock::time_point::max();
  for (;;) {
    const std::uint64_t seen = topics::DynamicParticipant::changes();
    const auto now = TopicSession::Clock::now();
    if (printer.print() > 0) {
      until = session.patience();
      rest_at = now + quiet_time;
    }
    const bool ends = printer.done() || session.stopped() || now >= until;
    if (ends || now >= rest_at) {
      printer.rest();
      rest_at = TopicSession::Clock::time_point::max();
    }
    if (printer.done()) return number(ExitCode::success);
    session.require_going_on();
    if (session.stopped()) return number(options.count ? ExitCode::interrupted : ExitCode::success);
    if (now >= until) throw Exception(no_sample(options, reader));
    topics::DynamicParticipant::await_change(seen, std::min(until, rest_at));
  }
}

}  // namespace spindrift::tools
