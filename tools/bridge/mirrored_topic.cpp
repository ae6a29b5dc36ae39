// Decisions on one topic; each look makes them anew from what both sides have then.
#include "mirrored_topic.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

#include <fmt/format.h>

#include "bridge/cyclone_qos.hpp"
#include "bridge/cyclone_type.hpp"
#include "escaped.hpp"
#include "json_output.hpp"
#include "output.hpp"

namespace spindrift::tools::bridge {
namespace {

using topics::AnnouncedTopic;
using topics::EndpointQos;
using Endpoints = std::vector<const CycloneEndpoint*>;
using Json = nlohmann::json;

constexpr int bridge_json_version = 1;
constexpr const char* to_words = "to Cyclone DDS";
constexpr const char* from_words = "from Cyclone DDS";
/// Endpoints of Cyclone DDS are known within one of its rounds of discovery, and those of a domain at once.
constexpr std::chrono::seconds known_after(3);

void print_json(Json object) { value_or_throw(print_line(one_line_of(versioned(bridge_json_version, std::move(object))))); }

/// The most that all writers of the topic offer.
EndpointQos offered_here(const AnnouncedTopic& topic) {
  EndpointQos qos = topic.qos;
  for (const topics::EndpointFacts& each : topic.writers) {
    const std::uint8_t ownership = each.qos.ownership;
    qos = least(qos, each.qos);
    qos.ownership = ownership;
  }
  return qos;
}

/// Whether a mirror for the one serves the other.
bool is_same(const EndpointQos& some, const EndpointQos& other) {
  return some.reliability == other.reliability && some.durability == other.durability && some.ownership == other.ownership;
}

Json json_of(const MirrorCounts& counts) {
  return {{"samples", counts.samples}, {"news", counts.news}, {"dropped", counts.dropped}};
}

std::string text_of(const MirrorCounts& counts) {
  return fmt::format("{} sample{} and {} end{} of instances, {} dropped", counts.samples, counts.samples == 1 ? "" : "s",
                     counts.news, counts.news == 1 ? "" : "s", counts.dropped);
}

std::string words_of(const CycloneEndpoint& endpoint) {
  return endpoint.writes ? "a writer of Cyclone DDS" : "a reader of Cyclone DDS";
}

Error mirrored_already(const topics::EndpointId& elder) {
  return Error(ErrorKind::refused, fmt::format("the bridge of node {} mirrors it between the same domains", elder.node))
      .fix("end one of the two; this one takes over when that one has ended");
}

Error not_passing(const CycloneEndpoint& endpoint) {
  return Error(endpoint.fault->kind(), "the type of " + words_of(endpoint) + " does not pass: " + endpoint.fault->message())
      .fix(endpoint.fault->fix());
}

/// Why this endpoint cannot have the topic.
std::optional<Error> fault_of(const CycloneEndpoint& endpoint, const topics::DynamicType& type) {
  if (endpoint.fault) return not_passing(endpoint);
  const std::string differs = endpoint.type ? difference(type, *endpoint.type) : "";
  if (differs.empty()) return std::nullopt;
  return Error(ErrorKind::refused, "the type of " + words_of(endpoint) + " is another one: " + differs)
      .fix("give the topic another name, or let all programs have its type alike");
}

}  // namespace

MirroredTopic::MirroredTopic(std::string name, topics::DynamicParticipant& participant, const CycloneSide& side,
                             const BridgeOptions& options)
    : name_(std::move(name)),
      participant_(participant),
      side_(side),
      options_(options),
      known_by_(std::chrono::steady_clock::now() + known_after) {}

void MirroredTopic::look(const AnnouncedTopic* ours) {
  if (to_ && to_->failure()) throw Exception(*to_->failure());
  if (from_ && from_->failure()) throw Exception(*from_->failure());
  Endpoints theirs;
  for (const auto& [handle, endpoint] : side_.endpoints()) {
    if (endpoint.topic == name_) theirs.push_back(&endpoint);
  }
  if (ours == nullptr && theirs.empty()) {
    end_from_cyclone();
    end_to_cyclone();
    type_.reset();
    return say_if_nobody_has_it();
  }
  known_by_.reset();
  try {
    if (const auto elder = elder_bridge(ours)) throw Exception(mirrored_already(*elder));
    value_or_throw(agree(ours, theirs));
    if (options_.from_cyclone()) look_from_cyclone(ours, theirs);
    if (options_.to_cyclone() && ours != nullptr) look_to_cyclone(*ours, !theirs.empty());
    said_.clear();
    say_left_out(theirs);
  } catch (const Exception& thrown) {
    if (thrown.error().kind() == ErrorKind::group_closed || thrown.error().kind() == ErrorKind::resource) throw;
    end_from_cyclone();
    end_to_cyclone();
    refuse(thrown.error());
  }
}

std::optional<topics::EndpointId> MirroredTopic::elder_bridge(const AnnouncedTopic* ours) const {
  if (ours == nullptr) return std::nullopt;
  for (const auto* const some : {&ours->writers, &ours->readers}) {
    for (const topics::EndpointFacts& each : *some) {
      const bool marked = std::string(each.qos.data.own.begin(), each.qos.data.own.end()) == side_.mark();
      if (marked && each.id.process() != participant_.id() && participant_.is_older(each.id)) return each.id.process();
    }
  }
  return std::nullopt;
}

Result<void> MirroredTopic::agree(const AnnouncedTopic* ours, const Endpoints& theirs) {
  if (ours != nullptr && ours->type == nullptr) return *ours->fault;
  std::shared_ptr<const topics::DynamicType> type = type_;
  if (ours != nullptr) type = ours->type;
  for (const CycloneEndpoint* each : theirs) {
    if (type == nullptr) type = each->type;
  }
  if (type == nullptr) {
    const CycloneEndpoint& one = *theirs.front();
    if (one.fault) return not_passing(one);
    return Error(ErrorKind::unsupported, "the programs of Cyclone DDS do not describe its type")
        .fix("start a participant of Spindrift that has the topic, or build them with a description (idlc without -t)");
  }
  SPINDRIFT_TRY(check_passes(*type));
  for (const CycloneEndpoint* each : theirs) {
    if (auto fault = fault_of(*each, *type)) return *std::move(fault);
  }
  type_ = type;
  const std::string type_name = theirs.empty() ? type->name() : theirs.front()->type_name;
  const bool is_other = cyclone_ != nullptr && (cyclone_->described()->description() != type->description() ||
                                                (cyclone_->type_name() != type_name && !theirs.empty()));
  if (cyclone_ == nullptr || is_other) {
    end_from_cyclone();
    end_to_cyclone();
    cyclone_ = std::make_shared<const CycloneTopic>(side_, name_, type_name, type_);
  }
  for (const CycloneEndpoint* each : theirs) {
    if (each->type_name != type_name)
      return Error(ErrorKind::refused, "programs of Cyclone DDS call its type both " + type_name + " and " + each->type_name)
          .fix("let all of them call it alike");
  }
  return {};
}

EndpointQos MirroredTopic::offered_there(const Endpoints& theirs) const {
  std::optional<EndpointQos> qos;
  for (const CycloneEndpoint* each : theirs) {
    if (each->writes) qos = qos ? least(*qos, each->qos) : each->qos;
  }
  return qos.value_or(EndpointQos{});
}

void MirroredTopic::look_from_cyclone(const AnnouncedTopic* ours, const Endpoints& theirs) {
  const bool any = std::any_of(theirs.begin(), theirs.end(), [](const CycloneEndpoint* each) { return each->writes; });
  const EndpointQos qos = offered_there(theirs);
  if (from_ != nullptr && (!any || !is_same(qos, past_.from_qos))) end_from_cyclone();
  if (!any || from_ != nullptr) return;
  AnnouncedTopic topic;
  if (ours != nullptr) topic = *ours;
  topic.name = name_;
  topic.type = type_;
  if (ours == nullptr) {
    topic.qos.reliability = qos.reliability;
    topic.qos.durability = qos.durability;
    topic.qos.kept = qos.kept;
  }
  topic.qos.ownership = qos.ownership;
  from_ = std::make_unique<FromCyclone>(participant_, side_, cyclone_, topic, qos);
  past_.from_qos = qos;
  say_mirrored("from_cyclone", qos);
}

void MirroredTopic::look_to_cyclone(const AnnouncedTopic& ours, bool anybody_there) {
  const EndpointQos qos = offered_here(ours);
  const std::uint64_t from_now = past_.from.samples + (from_ ? from_->counts().samples : 0);
  // Late joiners are to have what Cyclone DDS's writers wrote as well; who is there has it, and gets nothing twice.
  const bool renewed = to_ != nullptr && qos.durability > 0 && !anybody_there && from_now != past_.from_when_to_began;
  if (to_ != nullptr && !renewed && is_same(qos, past_.to_qos)) return;
  // The history stays as long as somebody has the topic: the next mirror has it before the last one ends.
  auto next = std::make_unique<ToCyclone>(participant_, side_, cyclone_, ours, qos, renewed);
  end_to_cyclone();
  to_ = std::move(next);
  past_.to_qos = qos;
  past_.from_when_to_began = from_now;
  if (!renewed) say_mirrored("to_cyclone", qos);
}

void MirroredTopic::end_to_cyclone() {
  if (to_ == nullptr) return;
  to_->end();
  past_.to.add(to_->counts());
  to_.reset();
}
void MirroredTopic::end_from_cyclone() {
  if (from_ == nullptr) return;
  from_->end();
  past_.from.add(from_->counts());
  from_.reset();
}

void MirroredTopic::refuse(const Error& reason) {
  const std::string text = reason.to_string();
  if (text == said_) return;
  said_ = text;
  if (options_.json) return print_json({{"event", "refused"}, {"topic", name_}, {"error", tools::json_of(reason)}});
  fmt::print(stderr, "spindrift: topic {} is not mirrored: {}\n", harmless(name_), harmless(text));
}

// A name that is misspelled would else go unnoticed.
void MirroredTopic::say_if_nobody_has_it() {
  if (!known_by_ || std::chrono::steady_clock::now() < *known_by_) return;
  known_by_.reset();
  if (options_.json) return print_json({{"event", "awaited"}, {"topic", name_}});
  fmt::print(stderr, "spindrift: topic {}: neither domain has it so far; it is mirrored once one of them does\n",
             harmless(name_));
}

void MirroredTopic::say_mirrored(const char* direction, const EndpointQos& qos) {
  const std::string& type_name = cyclone_->type_name();
  if (options_.json)
    return print_json(
        {{"event", "mirror"}, {"topic", name_}, {"type", type_name}, {"direction", direction}, {"qos", words_of(qos)}});
  const bool to = std::string_view(direction) == "to_cyclone";
  value_or_throw(print_line(fmt::format("mirrors topic {} of type {} {}: {}", harmless(name_), harmless(type_name),
                                        to ? to_words : from_words, words_of(qos))));
}

void MirroredTopic::say_left_out(const Endpoints& theirs) {
  std::string all;
  for (const CycloneEndpoint* each : theirs) {
    const std::string some = left_out(each->qos);
    if (!some.empty()) all += fmt::format("{}{} of a {}", all.empty() ? "" : "; ", some, each->writes ? "writer" : "reader");
  }
  if (all == left_out_) return;
  left_out_ = all;
  if (all.empty()) return;
  fmt::print(stderr, "spindrift: topic {}: these policies of Cyclone DDS's endpoints are not mirrored: {}\n",
             harmless(name_), harmless(all));
}

void MirroredTopic::finish() {
  end_from_cyclone();
  end_to_cyclone();
  const std::uint64_t malformed = cyclone_ ? cyclone_->malformed().total() : 0;
  if (options_.json) {
    Json from = json_of(past_.from);
    from["malformed"] = malformed;
    return print_json(
        {{"event", "end"}, {"topic", name_}, {"to_cyclone", json_of(past_.to)}, {"from_cyclone", std::move(from)}});
  }
  value_or_throw(print_line(fmt::format("topic {}: {}: {}; {}: {}, {} none of its type", harmless(name_), to_words,
                                        text_of(past_.to), from_words, text_of(past_.from), malformed)));
}

}  // namespace spindrift::tools::bridge
