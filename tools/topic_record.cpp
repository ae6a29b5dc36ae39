// `spindrift topic record`: what comes of topics, into a file.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>

#include <spindrift/dds/portable_sample.hpp>

#include "escaped.hpp"
#include "exit_code.hpp"
#include "mcap/writer.hpp"
#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

using Clock = TopicSession::Clock;

/// So many bytes of each topic wait to be recorded, and others are dropped.
constexpr std::uint64_t backlog_bytes_max = std::uint64_t{64} << 20;
/// A recording that is killed lacks the time since the last chunk.
constexpr std::chrono::seconds chunk_time_max(1);
constexpr std::chrono::milliseconds look_again_after(20);

class TopicRecorder {
 public:
  TopicRecorder(TopicSession& session, const RecordOptions& options)
      : session_(session),
        options_(options),
        file_(value_or_throw(mcap::McapWriter::create(options.file, "spindrift " SPINDRIFT_VERSION))) {}

  void add(const topics::AnnouncedTopic& topic) {
    if (!known_.insert(topic.name).second) return;
    if (topic.type == nullptr) throw Exception(*topic.fault);
    const auto id = static_cast<std::uint16_t>(sources_.size() + 1);
    const topics::DynamicReading how{.from_last = options_.from == "last", .bytes_max = backlog_bytes_max};
    sources_.push_back({topic.name, id, session_.read(topic, how), 0});
    value_or_throw(file_.add(schema_of(topic, id)));
    value_or_throw(file_.add(channel_of(topic, id)));
    fmt::print(stderr, "recording topic {}\n", harmless(topic.name));
  }
  /// Adds what the domain has by now, unless nothing has changed; what cannot be read is said and left out. When to look
  /// again.
  Clock::time_point look(std::uint64_t changes) {
    if (!options_.all || looked_ == changes) return Clock::time_point::max();
    if (Clock::now() < look_again_) return look_again_;
    looked_ = changes;
    look_again_ = Clock::now() + look_again_after;
    for (const topics::AnnouncedTopic& each : session_.topics()) {
      try {
        add(each);
      } catch (const Exception& thrown) {
        if (thrown.error().kind() != ErrorKind::bad_input && thrown.error().kind() != ErrorKind::refused) throw;
        fmt::print(stderr, "spindrift: topic {} is not recorded: {}\n", harmless(each.name), harmless(thrown.what()));
      }
    }
    return Clock::time_point::max();
  }
  void take() {
    for (Source& source : sources_) {
      const std::uint64_t now = now_ns();
      for (const topics::DynamicRead& each : source.reader.take()) {
        if (each.sample == nullptr) continue;  // news of an instance
        if (done()) return;
        const std::vector<std::byte> bytes = topics::portable_bytes(*each.sample);
        value_or_throw(file_.add(mcap::McapMessage{
            .channel_id = source.id,
            .sequence = ++source.samples,
            .log_time = now,
            .publish_time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, each.about.source_timestamp)),
            .data = bytes}));
        ++samples_;
      }
    }
    if (Clock::now() < flush_at_) return;
    flush_at_ = Clock::now() + chunk_time_max;
    value_or_throw(file_.flush());
  }
  [[nodiscard]] Clock::time_point flush_at() const { return flush_at_; }
  [[nodiscard]] bool done() const { return options_.count && samples_ >= *options_.count; }

  /// The end of the file, and what it has.
  void finish() {
    mcap::McapMetadata missing{.name = missing_samples_name, .texts = {}};
    std::uint64_t lost = 0;
    for (const Source& source : sources_) {
      const std::uint64_t of_topic = source.reader.lost();
      const bool more = source.reader.more_may_be_lost();
      if (of_topic > 0 || more) missing.texts[source.name] = std::to_string(of_topic) + (more ? more_missing_suffix : "");
      if (more) fmt::print(stderr, "spindrift: topic {}: {}\n", harmless(source.name), more_missing_text);
      lost += of_topic;
    }
    Result<void> finished = file_.finish(missing);
    fmt::print(stderr, "recorded {} sample{} of {} topic{} in {:.1f} s: {}\n", file_.messages(),
               file_.messages() == 1 ? "" : "s", sources_.size(), sources_.size() == 1 ? "" : "s",
               std::chrono::duration<double>(Clock::now() - began_).count(), harmless(options_.file));
    if (lost > 0) fmt::print(stderr, "spindrift: {} samples are missing: they came faster than they were recorded\n", lost);
    value_or_throw(std::move(finished));
  }

 private:
  struct Source {
    std::string name;
    std::uint16_t id;
    topics::DynamicReader reader;
    std::uint32_t samples;
  };

  /// By a clock that does not go back, from where the other one was.
  [[nodiscard]] std::uint64_t now_ns() const {
    return static_cast<std::uint64_t>(wall_ns_ + std::chrono::nanoseconds(Clock::now() - began_).count());
  }

  TopicSession& session_;
  const RecordOptions& options_;
  mcap::McapWriter file_;
  const Clock::time_point began_ = Clock::now();
  const std::int64_t wall_ns_ =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  Clock::time_point flush_at_ = began_ + chunk_time_max;
  Clock::time_point look_again_ = began_;
  std::optional<std::uint64_t> looked_;  // the count of changes then
  std::set<std::string> known_;
  std::vector<Source> sources_;
  std::uint64_t samples_ = 0;
};

/// Until something ends it. Whether that was what the options ask for.
bool record(TopicSession& session, TopicRecorder& recorder, const RecordOptions& options) {
  const auto limit = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds.value_or(0)));
  const auto until = options.seconds ? Clock::now() + limit : Clock::time_point::max();
  for (;;) {
    const std::uint64_t seen = topics::DynamicParticipant::changes();
    const auto look = recorder.look(seen);
    recorder.take();
    if (recorder.done() || Clock::now() >= until) return true;
    session.require_going_on();
    if (session.stopped()) return !options.count && !options.seconds;
    topics::DynamicParticipant::await_change(seen, std::min({look, recorder.flush_at(), until}));
  }
}

}  // namespace

int record_topics(const RecordOptions& options) {
  if (options.all != options.topics.empty()) {
    throw Exception(Error(ErrorKind::bad_argument, "either topics are named, or all are recorded")
                        .at("topic record")
                        .fix("name topics, or give --all"));
  }
  TopicSession session(options, TopicUse::reads);
  std::vector<topics::AnnouncedTopic> found;
  for (const std::string& name : options.topics) {
    auto topic = session.find(name);
    if (!topic) return number(ExitCode::interrupted);
    found.push_back(std::move(*topic));
  }
  TopicRecorder recorder(session, options);
  bool whole = false;
  try {
    for (const topics::AnnouncedTopic& each : found) recorder.add(each);
    whole = record(session, recorder, options);
  } catch (const Exception&) {
    // The file gets an end, if that can be.
    try {
      recorder.finish();
    } catch (const Exception& second) {
      fmt::print(stderr, "spindrift: {}\n", harmless(second.what()));
    }
    throw;
  }
  recorder.finish();
  return number(whole ? ExitCode::success : ExitCode::interrupted);
}

}  // namespace spindrift::tools
