// Topics out of endpoints, and the qualities of readers of any writers.
#include <spindrift/dds/dynamic_reader.hpp>

#include <utility>

#include <spindrift/dds/dynamic_parts.hpp>

namespace spindrift::topics {
namespace {

using namespace dds::core::policy;

constexpr std::uint32_t kept_of_instance = 1000;
/// About the bytes that a sample takes in a reader beside its own.
constexpr std::uint64_t sample_overhead = 400;

/// The endpoint with whose description the names of fields are known comes first.
void take_type(AnnouncedTopic& topic) {
  std::optional<Error> fault;
  for (const bool named : {true, false}) {
    for (const EndpointFacts& each : topic.participants) {
      if (each.named.empty() == named) continue;
      auto type = DynamicType::of(each);
      if (type) {
        topic.type = std::make_shared<const DynamicType>(std::move(type).value());
        return;
      }
      fault = type.error();
    }
  }
  topic.fault = std::move(fault);
}

/// Whether the sample is kept until it is taken; it counts from now on.
bool has_room(ReaderBacklog& backlog, const void* sample, std::uint64_t bytes_max) {
  const std::uint64_t bytes = sample_overhead + static_cast<const DynamicSample*>(sample)->bytes().size();
  if (backlog.bytes + bytes > bytes_max) {
    ++backlog.dropped;
    return false;
  }
  backlog.bytes += bytes;
  return true;
}

}  // namespace

std::vector<DynamicRead> DynamicReader::take() {
  std::vector<DynamicRead> all;
  for (ReadSample& each : source_->take()) {
    auto sample = std::static_pointer_cast<const DynamicSample>(each.data);
    all.push_back({std::move(sample), std::move(each)});
  }
  return all;
}

std::function<bool(const void*)> ReaderBacklog::filter(const std::shared_ptr<ReaderBacklog>& backlog,
                                                       std::uint64_t bytes_max) {
  if (bytes_max == 0) return {};
  return [backlog, bytes_max](const void* sample) { return has_room(*backlog, sample, bytes_max); };
}

std::vector<AnnouncedTopic> announced_topics(const std::map<EndpointId, EndpointFacts>& endpoints) {
  std::map<std::string, AnnouncedTopic> found;
  for (const auto& [id, facts] : endpoints) {
    if (facts.kind == EndpointKind::participant) continue;
    AnnouncedTopic& topic = found[facts.topic];
    if (facts.kind == EndpointKind::writer) topic.writers.push_back(facts);
    if (facts.kind == EndpointKind::reader) topic.readers.push_back(facts);
    if (facts.kind == EndpointKind::topic) topic.participants.push_back(facts);
  }
  std::vector<AnnouncedTopic> topics;
  for (auto& [name, topic] : found) {
    if (topic.participants.empty()) continue;  // its last participant ended, and its endpoints' end is on its way
    topic.name = name;
    topic.description = topic.participants.front().type;
    topic.qos = topic.participants.front().qos;
    take_type(topic);
    topics.push_back(std::move(topic));
  }
  return topics;
}

UserData user_data(const std::string& mark) { return UserData(std::vector<std::uint8_t>(mark.begin(), mark.end())); }

/// The ownership that the topic's endpoints have, which has to be one; without any, the topic's.
Ownership ownership_of(const AnnouncedTopic& topic) {
  for (const auto* const some : {&topic.writers, &topic.readers}) {
    if (!some->empty() && some->front().qos.ownership == 1) return Ownership::Exclusive();
  }
  return Ownership(static_cast<OwnershipKind>(topic.qos.ownership));
}

dds::sub::qos::DataReaderQos reader_qos(const AnnouncedTopic& topic, const DynamicReading& how) {
  dds::sub::qos::DataReaderQos qos;
  qos << Reliability::BestEffort() << ownership_of(topic) << user_data(how.mark);
  qos << (how.bytes_max > 0 || how.held_max > 0 ? History::KeepAll() : History::KeepLast(kept_of_instance));
  if (how.held_max > 0) qos << Reliability::Reliable() << ResourceLimits(static_cast<std::int32_t>(how.held_max));
  if (how.from_last) qos << Durability::TransientLocal();
  return qos;
}

dds::sub::qos::SubscriberQos any_partition() {
  dds::sub::qos::SubscriberQos around;
  around << Partition("*");
  return around;
}

dds::topic::qos::TopicQos topic_qos(const AnnouncedTopic& topic) {
  dds::topic::qos::TopicQos qos;
  qos << Reliability(static_cast<ReliabilityKind>(topic.qos.reliability))
      << Durability(static_cast<DurabilityKind>(topic.qos.durability))
      << History::KeepLast(static_cast<std::uint32_t>(topic.qos.kept.depth));
  DurabilityService service;
  service.history_depth(topic.qos.kept.service_depth);
  qos << service;
  return qos;
}

}  // namespace spindrift::topics
