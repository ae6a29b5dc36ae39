// `spindrift topic ls` and `info`: the topics of a domain, with their types, writers and readers.
#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "escaped.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "table.hpp"
#include "topic_session.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;
using topics::AnnouncedTopic;

constexpr int topics_json_version = 1;

std::string reliability_of(const topics::EndpointQos& qos) { return topics::reliability_names.at(qos.reliability); }
std::string durability_of(const topics::EndpointQos& qos) { return topics::durability_names.at(qos.durability); }
std::string ownership_of(const topics::EndpointQos& qos) { return topics::ownership_names.at(qos.ownership); }

bool is_key(const topics::DynamicType& type, std::size_t field) {
  return std::find(type.keys().begin(), type.keys().end(), field) != type.keys().end();
}

Json fields_of(const AnnouncedTopic& topic) {
  if (topic.type == nullptr) return nullptr;
  Json fields = Json::array();
  const auto& all = topic.type->root().fields;
  for (std::size_t at = 0; at < all.size(); ++at) {
    fields.push_back({{"name", all[at].name},
                      {"kind", topic.type->text_of(topic.type->kinds()[all[at].kind], true)},
                      {"key", is_key(*topic.type, at)}});
  }
  return fields;
}

Json json_of(const AnnouncedTopic& topic) {
  const bool in_place = topic.type && topic.type->in_place();
  return {{"name", topic.name},
          {"type", topic.type ? topic.type->name() : topic.description},
          {"fault", topic.fault ? Json(topic.fault->to_string()) : Json(nullptr)},
          {"fields", fields_of(topic)},
          {"in_place_bytes", in_place ? Json(topic.type->in_place_bytes()) : Json(nullptr)},
          {"reliability", reliability_of(topic.qos)},
          {"durability", durability_of(topic.qos)},
          {"participants", topic.participants.size()},
          {"writers", topic.writers.size()},
          {"readers", topic.readers.size()}};
}

Json json_of(const topics::EndpointFacts& endpoint) {
  return {{"kind", endpoint.kind == topics::EndpointKind::writer ? "writer" : "reader"},
          {"node", endpoint.id.node},
          {"number", endpoint.id.number},
          {"reliability", reliability_of(endpoint.qos)},
          {"durability", durability_of(endpoint.qos)},
          {"ownership", ownership_of(endpoint.qos)},
          {"partitions", endpoint.qos.partitions}};
}

void print_table(const std::vector<AnnouncedTopic>& all) {
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::left, Align::left, Align::right, Align::right, Align::left});
  table.add({"topic", "reliability", "durability", "writers", "readers", "type"});
  for (const AnnouncedTopic& each : all) {
    table.add({harmless(each.name), reliability_of(each.qos), durability_of(each.qos), std::to_string(each.writers.size()),
               std::to_string(each.readers.size()), harmless(each.type ? each.type->name() : each.fault->to_string())});
  }
  table.print();
}

void print_fields(const topics::DynamicType& type) {
  TextTable table({TextTable::Align::left, TextTable::Align::left, TextTable::Align::left});
  table.add({"field", "", "kind"});
  const auto& all = type.root().fields;
  for (std::size_t at = 0; at < all.size(); ++at) {
    table.add({all[at].name, is_key(type, at) ? "key" : "", harmless(type.text_of(type.kinds()[all[at].kind], true))});
  }
  table.print();
}

void print_endpoints(const AnnouncedTopic& topic) {
  using Align = TextTable::Align;
  TextTable table({Align::left, Align::right, Align::left, Align::left, Align::left, Align::left});
  table.add({"", "node", "reliability", "durability", "ownership", "partitions"});
  for (const auto* const some : {&topic.writers, &topic.readers}) {
    for (const topics::EndpointFacts& each : *some) {
      std::string partitions;
      for (const std::string& name : each.qos.partitions) partitions += (partitions.empty() ? "" : ", ") + harmless(name);
      table.add({each.kind == topics::EndpointKind::writer ? "writer" : "reader", std::to_string(each.id.node),
                 reliability_of(each.qos), durability_of(each.qos), ownership_of(each.qos), partitions});
    }
  }
  if (topic.writers.empty() && topic.readers.empty()) {
    fmt::print("nobody writes or reads it now\n");
  } else {
    table.print();
  }
}

}  // namespace

int list_topics(const TopicOptions& options) {
  TopicSession session(options, TopicUse::looks);
  const std::vector<AnnouncedTopic> all = session.topics();
  session.require_going_on();
  if (options.json) {
    Json list = Json::array();
    for (const AnnouncedTopic& each : all) list.push_back(json_of(each));
    print_document(
        versioned(topics_json_version, {{"participants", session.others()}, {"topics", std::move(list)}}));
  } else if (all.empty()) {
    fmt::print(stderr, "spindrift: there is no topic; other participants that are in the domain: {}\n",
               session.others());
  } else {
    print_table(all);
  }
  return number(ExitCode::success);
}

int show_topic(const TopicOptions& options) {
  TopicSession session(options, TopicUse::looks);
  const auto topic = session.find();
  if (!topic) return number(ExitCode::interrupted);
  if (options.json) {
    Json endpoints = Json::array();
    for (const auto* const some : {&topic->writers, &topic->readers}) {
      for (const topics::EndpointFacts& each : *some) endpoints.push_back(json_of(each));
    }
    print_document(versioned(topics_json_version, {{"topic", json_of(*topic)}, {"endpoints", std::move(endpoints)}}));
    return number(ExitCode::success);
  }
  if (topic->type == nullptr) throw Exception(*topic->fault);
  fmt::print("topic {}, {}, {}, of {} participant{}\ntype {}", harmless(topic->name), reliability_of(topic->qos),
             durability_of(topic->qos), topic->participants.size(), topic->participants.size() == 1 ? "" : "s",
             harmless(topic->type->name()));
  if (topic->type->in_place()) fmt::print(", {} bytes in place", topic->type->in_place_bytes());
  fmt::print("\n");
  print_fields(*topic->type);
  print_endpoints(*topic);
  return number(ExitCode::success);
}

}  // namespace spindrift::tools
