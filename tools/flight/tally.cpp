// Counting, digesting, and the forms in which a tally travels: to the demo, and to a member that joins.
#include "flight/tally.hpp"

#include <algorithm>
#include <cstring>
#include <istream>
#include <iterator>
#include <limits>
#include <ostream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/json_number.hpp>

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

FlightTally::FlightTally(const FlightParts& parts, OnAssigned on_assigned)
    : parts_(parts),
      on_assigned_(std::move(on_assigned)),
      topics_(parts.recording.topics().size()),
      subgroups_(parts.view.subgroups.size()) {}

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
    if (parts_.plan[t].subgroup != subgroup) continue;
    const bool never = topic.sender == Sender{};
    if (!never && is_there(topic.sender, view_)) continue;
    const auto next = next_in_line(parts_.plan[t], parts_.view, view_);
    if (!next) continue;
    topic.sender = *next;
    if (on_assigned_) on_assigned_(t, *next, topic.count);
  }
}

bool FlightTally::is_due(std::size_t topic, std::span<const std::byte> sample) {
  const std::uint64_t number = topics_[topic].count;
  if (number >= parts_.flight.samples_of(topic)) return false;
  parts_.flight.write(topic, number, due_);
  return std::ranges::equal(due_, sample);
}

void FlightTally::add(SubgroupId subgroup, const Delivery& delivery, std::optional<std::size_t> topic,
                      std::span<const std::byte> sample) {
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
  if (!topic) return note(fmt::format("node {} sent a sample of no topic of the recording", delivery.sender.value()));
  TopicPart& counted = topics_[*topic];
  const std::string& name = parts_.recording.topics()[*topic].name;
  if (!part.ready) {
    note(fmt::format("a sample of {} came before the state that it follows", name));
  } else if (parts_.plan[*topic].subgroup != subgroup || counted.sender.node != delivery.sender) {
    note(
        fmt::format("a sample of {} came from node {} through the wrong subgroup or member", name, delivery.sender.value()));
  } else if (!is_due(*topic, sample)) {
    note(fmt::format("a sample of {} came that is not sample {} of the file, which was due", name, counted.count));
  }
  ++counted.count;
  counted.content.add(sample);
}

void FlightTally::save(SubgroupId subgroup, std::ostream& to) const {
  const SubgroupPart& part = subgroups_[subgroup.value()];
  Json json{{"sequence", part.sequence.value().words},
            {"messages", part.messages},
            {"bytes", part.bytes},
            {"topics", Json::array()}};
  for (std::size_t t = 0; t < topics_.size(); ++t) {
    if (parts_.plan[t].subgroup != subgroup) continue;
    const TopicPart& topic = topics_[t];
    json["topics"].push_back({{"name", parts_.recording.topics()[t].name},
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
      if (parts_.plan[t].subgroup != subgroup) continue;
      const Json& topic = topics.at(position++);
      if (topic.at("name") != parts_.recording.topics()[t].name) throw broken("its topics are others");
      topics_[t] = {whole_number(topic.at("count")),
                    ChainedDigest(digest_from(topic.at("content"))),
                    {node_from(topic.at("sender")), whole_number(topic.at("incarnation"))}};
      if (topics_[t].count > parts_.recording.topics()[t].samples) throw broken("it counts more samples than there are");
    }
    if (position != topics.size()) throw broken("its topics are others");
    subgroups_[subgroup.value()] = {ChainedDigest(digest_from(json.at("sequence"))),
                                    whole_number(json.at("messages")), whole_number(json.at("bytes")), true};
  } catch (const Json::exception& failure) {
    throw broken(failure.what());
  }
  assign(subgroup);  // the state is of the boundary, before this view's departures were looked at
}

std::string FlightTally::save_all() const {
  auto all = Json::array();
  for (std::uint32_t s = 0; s < subgroups_.size(); ++s) {
    std::ostringstream part;
    save(SubgroupId(s), part);
    all.push_back(part.str());
  }
  return all.dump();
}

void FlightTally::load_all(std::string_view text) {
  const Json all = Json::parse(text, nullptr, false);
  if (!all.is_array() || all.size() != subgroups_.size())
    throw Exception(Error(ErrorKind::bad_input, "the tally that a member sent is of other subgroups"));
  for (std::uint32_t s = 0; s < subgroups_.size(); ++s) {
    std::istringstream part(all[s].is_string() ? all[s].get<std::string>() : std::string());
    load(SubgroupId(s), part);
  }
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

std::vector<Digest> recorded_contents(const ulog::Recording& recording, const TypedFlight& flight) {
  std::vector<Digest> contents;
  std::vector<std::byte> sample;
  for (std::size_t topic = 0; topic < recording.topics().size(); ++topic) {
    ChainedDigest digest;
    for (std::size_t number = 0; number < flight.samples_of(topic); ++number) {
      flight.write(topic, number, sample);
      digest.add(sample);
    }
    contents.push_back(digest.value());
  }
  return contents;
}

}  // namespace spindrift::tools
