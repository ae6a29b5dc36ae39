// Counting, digesting, and the forms in which a tally travels: to the demo, and to a member that joins.
#include "flight/tally.hpp"

#include <algorithm>
#include <cstring>
#include <istream>
#include <iterator>
#include <limits>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/json_number.hpp>

#include "flight/sample_message.hpp"

/// null in JSON, if it is nothing.
template <>
struct nlohmann::adl_serializer<std::optional<double>> {
  static void to_json(json& to, const std::optional<double>& number) { to = number ? json(*number) : json(); }
  static void from_json(const json& from, std::optional<double>& number) {
    number = from.is_null() ? std::nullopt : std::optional(from.get<double>());
  }
};

namespace spindrift {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Digest, words)

}  // namespace spindrift

namespace spindrift::tools {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ViewEntry, view, members, joined, left, failed, delivered, gap_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TallyResult, counts, contents, senders, sequences, messages, bytes, delivered, seconds,
                                   views)

namespace {

using Json = nlohmann::json;

struct SequencePrefix {
  std::uint64_t sequence = 0;
  std::uint32_t sender = 0;
  std::uint32_t bytes = 0;
};
static_assert(sizeof(SequencePrefix) == 16);

Digest digest_from(const Json& words) { return Digest{{whole_number(words.at(0)), whole_number(words.at(1))}}; }

NodeId node_from(const Json& id) {
  return NodeId(static_cast<std::uint32_t>(whole_number(id, std::numeric_limits<std::uint32_t>::max())));
}

bool is_there(const Sender& sender, const View& view) {
  const auto rank = view.rank_of(sender.node);
  if (!rank) return false;
  return view.incarnations.empty() || view.incarnations[rank->value()] == sender.incarnation;
}

}  // namespace

void ChainedDigest::add(std::span<const std::byte> message) noexcept {
  const std::array<Digest, 2> link{value_, digest_of(message)};
  value_ = digest_of(std::as_bytes(std::span(link)));
}

std::string to_json(const TallyResult& result) { return Json(result).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::optional<TallyResult> result_from_json(std::string_view text, std::size_t topics, std::size_t subgroups) {
  try {
    auto result = Json::parse(text).get<TallyResult>();
    const bool fits = result.counts.size() == topics && result.contents.size() == topics &&
                      result.senders.size() == topics && result.sequences.size() == subgroups;
    return fits ? std::optional(std::move(result)) : std::nullopt;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

FlightTally::FlightTally(const ulog::Recording& recording, const FlightPlan& plan, std::size_t subgroups,
                         OnAssigned on_assigned)
    : recording_(recording),
      plan_(plan),
      on_assigned_(std::move(on_assigned)),
      topics_(recording.topics().size()),
      subgroups_(subgroups) {}

void FlightTally::begin_view(const View& view) {
  const bool first_of_all = view.id == ViewId(0);
  view_ = view;
  for (std::uint32_t s = 0; s < subgroups_.size(); ++s) {
    if (first_of_all) subgroups_[s].ready = true;
    if (subgroups_[s].ready) assign(SubgroupId(s));
  }
}

// A sender that is still there keeps its topics: what it had under way goes first in the new view. A dead one's messages
// that were not delivered never will be, so its successor begins with the first of them.
void FlightTally::assign(SubgroupId subgroup) {
  for (std::size_t t = 0; t < topics_.size(); ++t) {
    TopicPart& topic = topics_[t];
    if (plan_[t].subgroup != subgroup) continue;
    const bool never = topic.sender == Sender{};
    if (!never && is_there(topic.sender, view_)) continue;
    const auto next = next_in_line(plan_[t], view_);
    if (!next) continue;
    topic.sender = *next;
    if (on_assigned_) on_assigned_(t, *next, topic.count);
  }
}

void FlightTally::add(SubgroupId subgroup, std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) add(subgroup, delivery);
}

void FlightTally::add(SubgroupId subgroup, const Delivery& delivery) {
  SubgroupPart& part = subgroups_[subgroup.value()];
  ++delivered_;
  ++part.messages;
  part.bytes += delivery.payload.size();
  const SequencePrefix prefix{.sequence = delivery.sequence.value(),
                              .sender = delivery.sender.value(),
                              .bytes = static_cast<std::uint32_t>(delivery.payload.size())};
  part.sequence.add(std::as_bytes(std::span(&prefix, 1)));
  part.sequence.add(delivery.payload);

  const auto note = [&](std::string fault) {
    if (!fault_) fault_ = std::move(fault);
  };
  const auto header = decode_header(delivery.payload, topics_.size());
  if (!header) return note(fmt::format("node {} sent a message that is no sample", delivery.sender.value()));
  TopicPart& topic = topics_[header->topic];
  const std::string& name = recording_.topics()[header->topic].name;
  if (!part.ready) {
    note(fmt::format("a sample of {} came before the state that it follows", name));
  } else if (plan_[header->topic].subgroup != subgroup || topic.sender.node != delivery.sender) {
    note(
        fmt::format("a sample of {} came from node {} through the wrong subgroup or member", name, delivery.sender.value()));
  } else if (header->number != static_cast<std::uint32_t>(topic.count)) {
    note(fmt::format("sample {} of {} came where {} was due", header->number, name, topic.count));
  }
  ++topic.count;
  topic.content.add(delivery.payload);
}

void FlightTally::save(SubgroupId subgroup, std::ostream& to) const {
  const SubgroupPart& part = subgroups_[subgroup.value()];
  Json json{{"sequence", part.sequence.value().words},
            {"messages", part.messages},
            {"bytes", part.bytes},
            {"topics", Json::array()}};
  for (std::size_t t = 0; t < topics_.size(); ++t) {
    if (plan_[t].subgroup != subgroup) continue;
    const TopicPart& topic = topics_[t];
    json["topics"].push_back({{"name", recording_.topics()[t].name},
                              {"count", topic.count},
                              {"content", topic.content.value().words},
                              {"sender", topic.sender.node.value()},
                              {"incarnation", topic.sender.incarnation}});
  }
  to << json.dump();
}

void FlightTally::load(SubgroupId subgroup, std::istream& from) {
  const auto broken = [](const std::string& what) {
    return Exception(Error(ErrorKind::bad_input, "the state that a member sent is none of this replay: " + what));
  };
  try {
    const Json json = Json::parse(std::string(std::istreambuf_iterator<char>(from), {}));
    const Json& topics = json.at("topics");
    std::size_t position = 0;
    for (std::size_t t = 0; t < topics_.size(); ++t) {
      if (plan_[t].subgroup != subgroup) continue;
      const Json& topic = topics.at(position++);
      if (topic.at("name") != recording_.topics()[t].name) throw broken("its topics are others");
      topics_[t] = {whole_number(topic.at("count")),
                    ChainedDigest(digest_from(topic.at("content"))),
                    {node_from(topic.at("sender")), whole_number(topic.at("incarnation"))}};
      if (topics_[t].count > recording_.topics()[t].samples) throw broken("it counts more samples than there are");
    }
    if (position != topics.size()) throw broken("its topics are others");
    subgroups_[subgroup.value()] = {ChainedDigest(digest_from(json.at("sequence"))),
                                    whole_number(json.at("messages")), whole_number(json.at("bytes")), true};
  } catch (const Json::exception& failure) {
    throw broken(failure.what());
  }
  assign(subgroup);  // the state is of the boundary, before this view's departures were looked at
}

std::uint64_t FlightTally::messages() const noexcept {
  std::uint64_t sum = 0;
  for (const SubgroupPart& part : subgroups_) sum += part.messages;
  return sum;
}

TallyResult FlightTally::result() const {
  TallyResult result;
  for (const TopicPart& topic : topics_) {
    result.counts.push_back(topic.count);
    result.contents.push_back(topic.content.value());
    result.senders.push_back(topic.sender.node.value());
  }
  for (const SubgroupPart& part : subgroups_) {
    result.sequences.push_back(part.sequence.value());
    result.bytes += part.bytes;
  }
  result.messages = messages();
  result.delivered = delivered_;
  return result;
}

std::vector<Digest> recorded_contents(const ulog::Recording& recording) {
  std::vector<ChainedDigest> digests(recording.topics().size());
  std::vector<std::uint32_t> counts(recording.topics().size());
  std::vector<std::byte> message;
  for (const ulog::Sample& sample : recording.samples()) {
    message.resize(message_bytes(sample));
    encode_sample(sample, counts[sample.topic]++, message);
    digests[sample.topic].add(message);
  }
  std::vector<Digest> contents;
  for (const ChainedDigest& digest : digests) contents.push_back(digest.value());
  return contents;
}

}  // namespace spindrift::tools
