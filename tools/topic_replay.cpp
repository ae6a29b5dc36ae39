// `spindrift topic replay`: the samples of a recording, as they came.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <fmt/format.h>

#include <spindrift/dds/portable_sample.hpp>

#include "escaped.hpp"
#include "exit_code.hpp"
#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

using Clock = TopicSession::Clock;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

/// The topics to be replayed, by their channels. Throws bad_argument: one is not in the recording; bad_input.
std::map<std::uint16_t, topics::AnnouncedTopic> wanted_topics(const TopicReplayOptions& options,
                                                              const RecordingSurvey& survey) {
  std::set<std::string> wanted(options.topics.begin(), options.topics.end());
  std::map<std::uint16_t, topics::AnnouncedTopic> found;
  std::string there;
  for (const auto& [id, channel] : survey.channels) {
    there += (there.empty() ? "" : ", ") + channel.topic;
    if (options.topics.empty() || wanted.erase(channel.topic) > 0)
      found.emplace(id, value_or_throw(topic_of(channel, options.file)));
  }
  if (wanted.empty()) return found;
  const std::string what = "topic " + *wanted.begin() + " is not in the recording; there are: " + there;
  throw Exception(Error(ErrorKind::bad_argument, what).at(options.file).fix("name others with --topics"));
}

class TopicPlayer {
 public:
  TopicPlayer(TopicSession& session, const TopicReplayOptions& options, std::uint64_t first_ns)
      : session_(session), options_(options), first_ns_(first_ns) {}

  void add(std::uint16_t channel, const topics::AnnouncedTopic& topic) {
    const std::string_view mark = options_.readers > 0 ? waits_for_readers : "";
    tracks_.emplace(channel, Track{topic, session_.participant().write(topic, {}, std::string(mark))});
  }
  /// False: a signal came. Throws timed_out.
  bool await_readers() {
    const auto until = session_.patience();
    bool told = false;
    for (;;) {
      const std::uint64_t seen = topics::DynamicParticipant::changes();
      session_.require_going_on();
      if (readers() >= options_.readers) return true;
      if (session_.stopped()) return false;
      if (!std::exchange(told, true)) {
        fmt::print(stderr, "waiting for {} reader{} of the topics; observers are none\n", options_.readers,
                   options_.readers == 1 ? "" : "s");
      }
      if (Clock::now() >= until) {
        throw Exception(Error(ErrorKind::timed_out, fmt::format("{} readers of its topics came, of {} that it waits for",
                                                                readers(), options_.readers))
                            .at(options_.file)
                            .fix("start programs that read them, give a longer --timeout, or begin at once: --readers 0"));
      }
      topics::DynamicParticipant::await_change(seen, until);
    }
  }
  /// Once through the recording. False: a signal came.
  bool play() {
    auto reader = value_or_throw(mcap::McapReader::open(options_.file));
    const auto begin = Clock::now();
    for (;;) {
      const auto message = value_or_throw(reader.next());
      if (!message) return true;
      const double at = (static_cast<double>(message->log_time) - static_cast<double>(first_ns_)) / 1e9;
      if (options_.to_s && at > *options_.to_s) return true;
      const auto track = tracks_.find(message->channel_id);
      if (at < options_.from_s || track == tracks_.end()) continue;
      if (!await(begin + seconds((at - options_.from_s) / options_.rate))) return false;
      auto sample = topics::from_portable_bytes(track->second.topic.type, message->data);
      if (!sample) {
        const std::string& topic = track->second.topic.name;
        throw Exception(
            Error(ErrorKind::bad_input, fmt::format("sample {} of topic {} is none of its type", message->sequence, topic))
                .at(options_.file)
                .fix("leave the topic out with --topics, or take a copy that is whole")
                .because(sample.error()));
      }
      if (!write(track->second, *sample)) return false;
    }
  }
  /// Waits until all participants have what was written, and says how much that was.
  void finish() {
    bool delivered = true;
    for (auto& [channel, track] : tracks_) {
      bool there = track.writer.is_delivered();
      while (!there && !session_.stopped()) {
        session_.require_going_on();
        there = track.writer.is_delivered();
      }
      delivered = delivered && there;
    }
    const std::size_t count = readers();
    fmt::print(stderr, "replayed {} sample{} of {} topic{}; {} reader{} of the domain match{}\n", written_,
               written_ == 1 ? "" : "s", tracks_.size(), tracks_.size() == 1 ? "" : "s", count, count == 1 ? "" : "s",
               count == 1 ? "es" : "");
  }
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  struct Track {
    topics::AnnouncedTopic topic;
    topics::DynamicWriter writer;
  };

  [[nodiscard]] std::size_t readers() const {
    std::size_t count = 0;
    for (const auto& [channel, track] : tracks_) count += track.writer.readers();
    return count;
  }
  bool await(Clock::time_point due) {
    for (;;) {
      const std::uint64_t seen = topics::DynamicParticipant::changes();
      session_.require_going_on();
      if (session_.stopped()) return false;
      if (Clock::now() >= due) return true;
      topics::DynamicParticipant::await_change(seen, due);
    }
  }
  bool write(Track& track, const topics::DynamicSample& sample) {
    const auto until = session_.patience();
    while (!track.writer.write(sample)) {
      session_.require_going_on();
      if (session_.stopped()) return false;
      if (Clock::now() < until) continue;
      throw Exception(Error(ErrorKind::timed_out, "participants take no more samples now")
                          .at("topic " + track.topic.name)
                          .fix("let their readers take, or give a longer --timeout"));
    }
    ++written_;
    return true;
  }

  TopicSession& session_;
  const TopicReplayOptions& options_;
  const std::uint64_t first_ns_;
  std::map<std::uint16_t, Track> tracks_;
  std::uint64_t written_ = 0;
};

/// Says what is missing at the end of a recording. The exit code where all else is done.
int tell_of_cut(const RecordingSurvey& survey) {
  if (!survey.cut) return number(ExitCode::success);
  fmt::print(stderr, "spindrift: {}\n", harmless(survey.cut->to_string()));
  return number(ExitCode::failure);
}

}  // namespace

int replay_topics(const TopicReplayOptions& options) {
  if (options.to_s && options.from_s > *options.to_s) {
    throw Exception(Error(ErrorKind::bad_argument, fmt::format("--from {} is behind --to {}: nothing lies between them",
                                                               options.from_s, *options.to_s))
                        .fix("give a time after --from, both in seconds since the recording's first sample"));
  }
  // All of it is read once before anything is written, so that a damaged file is refused.
  const RecordingSurvey survey = value_or_throw(survey_of(options.file, options.to_s));
  if (options.info) {
    print_survey(options, survey);
    return tell_of_cut(survey);
  }
  const auto wanted = wanted_topics(options, survey);
  const int done = tell_of_cut(survey);
  if (wanted.empty()) {
    fmt::print(stderr, "spindrift: {}: it has no samples, so nothing is replayed\n", harmless(options.file));
    return done;
  }
  TopicSession session(options);
  TopicPlayer player(session, options, survey.all.first_ns);
  for (const auto& [channel, topic] : wanted) player.add(channel, topic);
  bool whole = player.await_readers();
  for (std::uint64_t before = 0; whole; before = player.written()) {
    whole = player.play();
    if (!options.loop || player.written() == before) break;  // a loop of nothing would be busy for nothing
  }
  player.finish();
  return whole || options.loop ? done : number(ExitCode::interrupted);
}

}  // namespace spindrift::tools
