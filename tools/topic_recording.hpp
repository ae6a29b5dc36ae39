// `spindrift topic record` and `replay`: topics in MCAP files, as any program that reads those has them: each topic is a
// channel whose messages are plain CDR, and whose schema is its type as IDL.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mcap/reader.hpp"
#include "topic_session.hpp"

namespace spindrift::tools {

struct RecordOptions : TopicOptions {
  std::vector<std::string> topics;
  std::string file;
  bool all = false;  ///< all topics of the domain, also those to come
  std::optional<double> seconds;
};
struct TopicReplayOptions : TopicOptions {
  std::vector<std::string> topics;  ///< none: all of the recording
  std::string file;
  double rate = 1;
  double from_s = 0;  ///< from the recording's beginning
  std::optional<double> to_s;
  std::uint64_t readers = 1;  ///< for so many it waits
  bool loop = false;
  bool info = false;
};

int record_topics(const RecordOptions& options);
int replay_topics(const TopicReplayOptions& options);
void add_recording_commands(CLI::App& topic, Work& chosen);

// A topic as a channel, whose texts beside the schema say what we need to have it again: its description, and the qualities
// of the topic by the keys of profiles.

[[nodiscard]] mcap::McapSchema schema_of(const topics::AnnouncedTopic& topic, std::uint16_t id);
[[nodiscard]] mcap::McapChannel channel_of(const topics::AnnouncedTopic& topic, std::uint16_t id);
/// Errors: bad_input: the channel is none of a recording of topics.
[[nodiscard]] Result<topics::AnnouncedTopic> topic_of(const mcap::McapChannel& channel, const std::string& file);
/// The name of the text at the end of a recording that says how many samples of a topic are missing in it.
inline constexpr const char* missing_samples_name = "spindrift_missing_samples";
/// Behind such a number, where more may be missing.
inline constexpr const char* more_missing_suffix = " or more";

/// The samples of one topic in a recording.
struct RecordedCount {
  std::uint64_t samples = 0;
  std::uint64_t first_ns = 0;  ///< of the first one, since 1970
  std::uint64_t last_ns = 0;
};
struct RecordingSurvey {
  std::map<std::uint16_t, mcap::McapChannel> channels;
  std::map<std::uint16_t, std::string> type_names;
  std::map<std::uint16_t, RecordedCount> counts;
  std::map<std::string, std::string> missing;  ///< samples, by the topic's name
  RecordedCount all;
  std::optional<Error> cut;
};
/// Reads all of it, up to `to_s` seconds from its beginning. Errors: as McapReader's.
[[nodiscard]] Result<RecordingSurvey> survey_of(const std::string& file, std::optional<double> to_s);
/// Prints what it holds.
void print_survey(const TopicReplayOptions& options, const RecordingSurvey& survey);

}  // namespace spindrift::tools
