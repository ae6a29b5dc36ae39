// Counting, digesting, and the form in which results travel from a member to the demo.
#include "flight/tally.hpp"

#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flight/sample_message.hpp"

namespace spindrift::tools {
namespace {

struct SequencePrefix {
  std::uint64_t sequence = 0;
  std::uint32_t sender = 0;
  std::uint32_t bytes = 0;
};
static_assert(sizeof(SequencePrefix) == 16);

nlohmann::json digests_json(const std::vector<Digest>& digests) {
  auto list = nlohmann::json::array();
  for (const Digest& digest : digests) list.push_back(digest.words);
  return list;
}

std::vector<Digest> digests_from(const nlohmann::json& list) {
  std::vector<Digest> digests;
  for (const auto& words : list) digests.push_back(Digest{words.get<std::array<std::uint64_t, 2>>()});
  return digests;
}

std::vector<Digest> values(const std::vector<RunningDigest>& running) {
  std::vector<Digest> digests;
  for (const RunningDigest& digest : running) digests.push_back(digest.value());
  return digests;
}

}  // namespace

std::string to_json(const TallyResult& result) {
  return nlohmann::json{{"counts", result.counts},
                        {"contents", digests_json(result.contents)},
                        {"sequences", digests_json(result.sequences)},
                        {"messages", result.messages},
                        {"bytes", result.bytes},
                        {"seconds", result.seconds}}
      .dump();
}

std::optional<TallyResult> result_from_json(std::string_view text, std::size_t topics, std::size_t subgroups) {
  try {
    const auto json = nlohmann::json::parse(text);
    TallyResult result{.counts = json.at("counts").get<std::vector<std::uint64_t>>(),
                       .contents = digests_from(json.at("contents")),
                       .sequences = digests_from(json.at("sequences")),
                       .messages = json.at("messages").get<std::uint64_t>(),
                       .bytes = json.at("bytes").get<std::uint64_t>(),
                       .seconds = json.at("seconds").get<double>()};
    const bool fits =
        result.counts.size() == topics && result.contents.size() == topics && result.sequences.size() == subgroups;
    return fits ? std::optional(std::move(result)) : std::nullopt;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

Tally::Tally(const ulog::Recording& recording, const FlightPlan& plan, std::size_t subgroups)
    : recording_(recording),
      plan_(plan),
      counts_(recording.topics().size()),
      contents_(recording.topics().size()),
      sequences_(subgroups) {}

void Tally::add(SubgroupId subgroup, std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) add(subgroup, delivery);
}

void Tally::add(SubgroupId subgroup, const Delivery& delivery) {
  ++messages_;
  bytes_ += delivery.payload.size();
  const SequencePrefix prefix{.sequence = delivery.sequence.value(),
                              .sender = delivery.sender.value(),
                              .bytes = static_cast<std::uint32_t>(delivery.payload.size())};
  RunningDigest& sequence = sequences_[subgroup.value()];
  sequence.add(std::as_bytes(std::span(&prefix, 1)));
  sequence.add(delivery.payload);

  const auto header = decode_header(delivery.payload, counts_.size());
  if (!header) {
    if (!fault_) fault_ = fmt::format("node {} sent a message that is no sample", delivery.sender.value());
    return;
  }
  const TopicPlan& planned = plan_[header->topic];
  const std::string& topic = recording_.topics()[header->topic].name;
  std::uint64_t& count = counts_[header->topic];
  if (planned.subgroup != subgroup || planned.sender != delivery.sender) {
    if (!fault_)
      fault_ = fmt::format("a sample of {} came from node {} through the wrong subgroup or member", topic,
                           delivery.sender.value());
  } else if (header->number != static_cast<std::uint32_t>(count)) {
    if (!fault_) fault_ = fmt::format("sample {} of {} came where {} was due", header->number, topic, count);
  }
  ++count;
  contents_[header->topic].add(delivery.payload);
}

TallyResult Tally::result() const {
  return {.counts = counts_,
          .contents = values(contents_),
          .sequences = values(sequences_),
          .messages = messages_,
          .bytes = bytes_};
}

std::vector<Digest> recorded_contents(const ulog::Recording& recording) {
  std::vector<RunningDigest> digests(recording.topics().size());
  std::vector<std::uint32_t> counts(recording.topics().size());
  std::vector<std::byte> message;
  for (const ulog::Sample& sample : recording.samples()) {
    message.resize(message_bytes(sample));
    encode_sample(sample, counts[sample.topic]++, message);
    digests[sample.topic].add(message);
  }
  return values(digests);
}

}  // namespace spindrift::tools
