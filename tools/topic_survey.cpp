// The contents of a recording, for people and as JSON.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "escaped.hpp"
#include "json_output.hpp"
#include "moment.hpp"
#include "table.hpp"
#include "topic_recording.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

constexpr int recording_json_version = 1;

void count(RecordedCount& in, std::uint64_t time_ns) {
  if (in.samples == 0) in.first_ns = time_ns;
  in.last_ns = std::max(in.last_ns, time_ns);
  ++in.samples;
}

std::string time_of(std::uint64_t since_1970_ns) { return moment_text(static_cast<std::int64_t>(since_1970_ns)); }
double seconds_of(const RecordedCount& of) { return static_cast<double>(of.last_ns - of.first_ns) / 1e9; }

std::string text_of(const mcap::McapChannel& channel, const char* key) {
  const auto found = channel.metadata.find(key);
  return found == channel.metadata.end() ? "" : found->second;
}
std::string missing_of(const RecordingSurvey& survey, const std::string& topic) {
  const auto found = survey.missing.find(topic);
  return found == survey.missing.end() ? "0" : found->second;
}

Json json_of(const RecordedCount& of) {
  const bool any = of.samples > 0;
  return {{"samples", of.samples},
          {"first", any ? Json(time_of(of.first_ns)) : Json(nullptr)},
          {"last", any ? Json(time_of(of.last_ns)) : Json(nullptr)},
          {"seconds", any ? seconds_of(of) : 0}};
}

Json json_of(const std::string& file, const RecordingSurvey& survey) {
  Json topics = Json::array();
  for (const auto& [id, channel] : survey.channels) {
    Json topic = json_of(survey.counts.at(id));
    topic["name"] = channel.topic;
    topic["type"] = survey.type_names.at(id);
    const std::string missing = missing_of(survey, channel.topic);
    topic["missing"] = std::strtoull(missing.c_str(), nullptr, 10);
    topic["more_missing"] = missing.ends_with(more_missing_suffix);
    topic["reliability"] = text_of(channel, "reliability");
    topic["durability"] = text_of(channel, "durability");
    topics.push_back(std::move(topic));
  }
  Json all = json_of(survey.all);
  all["file"] = file;
  all["whole"] = !survey.cut;
  all["topics"] = std::move(topics);
  return versioned(recording_json_version, std::move(all));
}

}  // namespace

Result<RecordingSurvey> survey_of(const std::string& file, std::optional<double> to_s) {
  SPINDRIFT_TRY_ASSIGN(mcap::McapReader reader, mcap::McapReader::open(file));
  RecordingSurvey survey;
  for (;;) {
    SPINDRIFT_TRY_ASSIGN(const std::optional<mcap::McapMessage> message, reader.next());
    if (!message) break;
    const std::uint64_t first = survey.all.samples == 0 ? message->log_time : survey.all.first_ns;
    if (to_s && static_cast<double>(message->log_time) - static_cast<double>(first) > *to_s * 1e9) break;
    count(survey.all, message->log_time);
    count(survey.counts[message->channel_id], message->log_time);
  }
  survey.channels = reader.channels();
  for (const auto& [id, channel] : survey.channels) {
    const auto schema = reader.schemas().find(channel.schema_id);
    survey.type_names[id] = schema == reader.schemas().end() ? "" : schema->second.name;
    survey.counts.try_emplace(id);
  }
  for (const mcap::McapMetadata& each : reader.metadata()) {
    if (each.name == missing_samples_name) survey.missing = each.texts;
  }
  survey.cut = reader.cut();
  return survey;
}

void print_survey(const TopicReplayOptions& options, const RecordingSurvey& survey) {
  if (options.json) return print_document(json_of(options.file, survey));
  using Align = TextTable::Align;
  fmt::print("{}: {} sample{} of {} topic{}", harmless(options.file), survey.all.samples, survey.all.samples == 1 ? "" : "s",
             survey.channels.size(), survey.channels.size() == 1 ? "" : "s");
  if (survey.all.samples > 0) {
    fmt::print(", {} to {}, {:.3f} s", time_of(survey.all.first_ns), time_of(survey.all.last_ns), seconds_of(survey.all));
  }
  fmt::print("\n");
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::left, Align::left, Align::left});
  table.add({"topic", "samples", "missing", "seconds", "reliability", "durability", "type"});
  for (const auto& [id, channel] : survey.channels) {
    const RecordedCount& of = survey.counts.at(id);
    table.add({harmless(channel.topic), std::to_string(of.samples), harmless(missing_of(survey, channel.topic)),
               fmt::format("{:.3f}", seconds_of(of)), harmless(text_of(channel, "reliability")),
               harmless(text_of(channel, "durability")), harmless(survey.type_names.at(id))});
  }
  table.print();
}

}  // namespace spindrift::tools
