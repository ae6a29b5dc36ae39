// Built-in topics: policies out of what was told, and the types of their samples.
#include <spindrift/dds/builtin_topics.hpp>

namespace dds::topic {

using namespace core::policy;

namespace {
core::Duration length(std::int64_t nanoseconds) { return std::chrono::nanoseconds(nanoseconds); }
}  // namespace

BuiltinTopicKey::BuiltinTopicKey(const spindrift::topics::EndpointId& id) noexcept
    : value_{static_cast<std::uint32_t>(id.incarnation >> 32), static_cast<std::uint32_t>(id.incarnation), id.node,
             id.number} {}

std::string QualifiedBuiltinTopicData::type_name() const { return spindrift::topics::type_name_of(facts().type); }
Durability QualifiedBuiltinTopicData::durability() const {
  return Durability(static_cast<DurabilityKind>(facts().qos.durability));
}
Deadline QualifiedBuiltinTopicData::deadline() const { return Deadline(length(facts().qos.times.deadline)); }
LatencyBudget QualifiedBuiltinTopicData::latency_budget() const { return LatencyBudget(length(facts().qos.times.latency)); }
Liveliness QualifiedBuiltinTopicData::liveliness() const {
  return Liveliness(static_cast<LivelinessKind>(facts().qos.liveliness), length(facts().qos.times.lease));
}
Reliability QualifiedBuiltinTopicData::reliability() const {
  return Reliability(static_cast<ReliabilityKind>(facts().qos.reliability), length(facts().qos.times.blocking));
}
DestinationOrder QualifiedBuiltinTopicData::destination_order() const {
  return DestinationOrder(static_cast<DestinationOrderKind>(facts().qos.destination_order));
}
Ownership QualifiedBuiltinTopicData::ownership() const {
  return Ownership(static_cast<OwnershipKind>(facts().qos.ownership));
}

DurabilityService TopicBuiltinTopicData::durability_service() const {
  return DurabilityService(core::Duration::zero(), HistoryKind::KEEP_LAST, facts().qos.kept.service_depth);
}
Lifespan TopicBuiltinTopicData::lifespan() const { return Lifespan(length(facts().qos.times.lifespan)); }
History TopicBuiltinTopicData::history() const {
  return History(static_cast<HistoryKind>(facts().qos.kept.history), facts().qos.kept.depth);
}
ResourceLimits TopicBuiltinTopicData::resource_limits() const {
  const auto& kept = facts().qos.kept;
  return ResourceLimits(kept.samples_max, kept.instances_max, kept.instance_samples_max);
}

Presentation EndpointBuiltinTopicData::presentation() const {
  return Presentation(static_cast<PresentationAccessScopeKind>(facts().qos.access_scope), false,
                      facts().qos.ordered_access > 0);
}
Lifespan PublicationBuiltinTopicData::lifespan() const { return Lifespan(length(facts().qos.times.lifespan)); }
OwnershipStrength PublicationBuiltinTopicData::ownership_strength() const { return OwnershipStrength(facts().qos.strength); }
TimeBasedFilter SubscriptionBuiltinTopicData::time_based_filter() const {
  return TimeBasedFilter(length(facts().qos.times.separation));
}

}  // namespace dds::topic

namespace spindrift::topics {
namespace {

using dds::topic::ParticipantBuiltinTopicData;
using dds::topic::PublicationBuiltinTopicData;
using dds::topic::SubscriptionBuiltinTopicData;
using dds::topic::TopicBuiltinTopicData;

template <class Data>
TypeSupport support(const char* name) {
  TypeSupport made;
  made.name = made.description = name;
  made.identity = digest_of(made.description).words[0];
  made.keyed = true;
  made.key = [](const void* value) { return static_cast<const Data*>(value)->facts().id.name(); };
  return made;
}

}  // namespace

template <>
const TypeSupport& type_support<ParticipantBuiltinTopicData>() {
  static const TypeSupport made = support<ParticipantBuiltinTopicData>("dds::topic::ParticipantBuiltinTopicData");
  return made;
}
template <>
const TypeSupport& type_support<TopicBuiltinTopicData>() {
  static const TypeSupport made = support<TopicBuiltinTopicData>("dds::topic::TopicBuiltinTopicData");
  return made;
}
template <>
const TypeSupport& type_support<PublicationBuiltinTopicData>() {
  static const TypeSupport made = support<PublicationBuiltinTopicData>("dds::topic::PublicationBuiltinTopicData");
  return made;
}
template <>
const TypeSupport& type_support<SubscriptionBuiltinTopicData>() {
  static const TypeSupport made = support<SubscriptionBuiltinTopicData>("dds::topic::SubscriptionBuiltinTopicData");
  return made;
}

std::string type_name_of(const std::string& description) {
  // A name may have "{anonymous}" in it, as one of the compilers calls that namespace.
  constexpr std::string_view anonymous = "{anonymous}";
  std::size_t at = description.find('{');
  while (at != std::string::npos && description.compare(at, anonymous.size(), anonymous) == 0)
    at = description.find('{', at + anonymous.size());
  return description.substr(0, at);
}

std::optional<EndpointKind> builtin_kind(const std::string& topic) {
  for (const EndpointKind kind :
       {EndpointKind::topic, EndpointKind::writer, EndpointKind::reader, EndpointKind::participant}) {
    if (topic == builtin_topic_name(kind)) return kind;
  }
  return std::nullopt;
}

const char* builtin_topic_name(EndpointKind kind) {
  switch (kind) {
    case EndpointKind::topic: return "DCPSTopic";
    case EndpointKind::writer: return "DCPSPublication";
    case EndpointKind::reader: return "DCPSSubscription";
    case EndpointKind::participant: break;
  }
  return "DCPSParticipant";
}

const TypeSupport& builtin_type(EndpointKind kind) {
  switch (kind) {
    case EndpointKind::topic: return type_support<TopicBuiltinTopicData>();
    case EndpointKind::writer: return type_support<PublicationBuiltinTopicData>();
    case EndpointKind::reader: return type_support<SubscriptionBuiltinTopicData>();
    case EndpointKind::participant: break;
  }
  return type_support<ParticipantBuiltinTopicData>();
}

dds::topic::qos::TopicQos topic_qos(const TopicBuiltinTopicData& data) {
  dds::topic::qos::TopicQos made;
  made << data.topic_data() << data.durability() << data.durability_service() << data.deadline() << data.latency_budget()
       << data.liveliness() << data.reliability() << data.destination_order() << data.history() << data.resource_limits()
       << data.transport_priority() << data.lifespan() << data.ownership();
  return made;
}

std::shared_ptr<const void> builtin_sample(const EndpointFacts& facts) {
  switch (facts.kind) {
    case EndpointKind::topic: return std::make_shared<const TopicBuiltinTopicData>(facts);
    case EndpointKind::writer: return std::make_shared<const PublicationBuiltinTopicData>(facts);
    case EndpointKind::reader: return std::make_shared<const SubscriptionBuiltinTopicData>(facts);
    case EndpointKind::participant: break;
  }
  return std::make_shared<const ParticipantBuiltinTopicData>(facts);
}

}  // namespace spindrift::topics
