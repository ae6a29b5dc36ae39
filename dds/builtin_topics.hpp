// The built-in topics: participants, topics, writers and readers of the domain, as samples. The handle of an instance is the
// handle of the entity that it tells of.
#pragma once

#include <array>
#include <string>
#include <utility>

#include <spindrift/dds/endpoint.hpp>
#include <spindrift/dds/qos.hpp>
#include <spindrift/dds/type_support.hpp>

namespace dds::topic {

/// Names a participant, topic, writer or reader; the same at all participants, for as long as the entity lives.
class BuiltinTopicKey {
 public:
  using Value = std::array<std::uint32_t, 4>;
  BuiltinTopicKey() = default;
  explicit BuiltinTopicKey(const spindrift::topics::EndpointId& id) noexcept;
  [[nodiscard]] const Value& value() const noexcept { return value_; }
  auto operator<=>(const BuiltinTopicKey&) const noexcept = default;

 private:
  Value value_{};
};

/// The part that all of them have.
class BuiltinTopicData {
 public:
  BuiltinTopicData() = default;
  explicit BuiltinTopicData(spindrift::topics::EndpointFacts facts) : facts_(std::move(facts)) {}
  [[nodiscard]] BuiltinTopicKey key() const { return BuiltinTopicKey(facts_.id); }
  bool operator==(const BuiltinTopicData&) const = default;
  /// spindrift's own: as it was told.
  [[nodiscard]] const spindrift::topics::EndpointFacts& facts() const noexcept { return facts_; }

 private:
  spindrift::topics::EndpointFacts facts_;
};

/// Topic "DCPSParticipant".
class ParticipantBuiltinTopicData : public BuiltinTopicData {
 public:
  using BuiltinTopicData::BuiltinTopicData;
  [[nodiscard]] core::policy::UserData user_data() const { return core::policy::UserData(facts().qos.data.own); }
};

/// The part that topics, writers and readers have.
class QualifiedBuiltinTopicData : public BuiltinTopicData {
 public:
  using BuiltinTopicData::BuiltinTopicData;
  [[nodiscard]] std::string type_name() const;
  [[nodiscard]] core::policy::Durability durability() const;
  [[nodiscard]] core::policy::Deadline deadline() const;
  [[nodiscard]] core::policy::LatencyBudget latency_budget() const;
  [[nodiscard]] core::policy::Liveliness liveliness() const;
  [[nodiscard]] core::policy::Reliability reliability() const;
  [[nodiscard]] core::policy::DestinationOrder destination_order() const;
  [[nodiscard]] core::policy::Ownership ownership() const;
  [[nodiscard]] core::policy::TopicData topic_data() const { return core::policy::TopicData(facts().qos.data.topic); }
};

/// Topic "DCPSTopic": a topic of one participant; others that have it are instances of their own.
class TopicBuiltinTopicData : public QualifiedBuiltinTopicData {
 public:
  using QualifiedBuiltinTopicData::QualifiedBuiltinTopicData;
  [[nodiscard]] const std::string& name() const noexcept { return facts().topic; }
  [[nodiscard]] core::policy::DurabilityService durability_service() const;
  [[nodiscard]] core::policy::TransportPriority transport_priority() const { return core::policy::TransportPriority(); }
  [[nodiscard]] core::policy::Lifespan lifespan() const;
  [[nodiscard]] core::policy::History history() const;
  [[nodiscard]] core::policy::ResourceLimits resource_limits() const;
};

/// The part that writers and readers have.
class EndpointBuiltinTopicData : public QualifiedBuiltinTopicData {
 public:
  using QualifiedBuiltinTopicData::QualifiedBuiltinTopicData;
  [[nodiscard]] BuiltinTopicKey participant_key() const { return BuiltinTopicKey(facts().id.process()); }
  [[nodiscard]] const std::string& topic_name() const noexcept { return facts().topic; }
  [[nodiscard]] core::policy::UserData user_data() const { return core::policy::UserData(facts().qos.data.own); }
  [[nodiscard]] core::policy::GroupData group_data() const { return core::policy::GroupData(facts().qos.data.group); }
  [[nodiscard]] core::policy::Presentation presentation() const;
  [[nodiscard]] core::policy::Partition partition() const { return core::policy::Partition(facts().qos.partitions); }
};

/// Topic "DCPSPublication": a writer.
class PublicationBuiltinTopicData : public EndpointBuiltinTopicData {
 public:
  using EndpointBuiltinTopicData::EndpointBuiltinTopicData;
  [[nodiscard]] core::policy::Lifespan lifespan() const;
  [[nodiscard]] core::policy::OwnershipStrength ownership_strength() const;
};

/// Topic "DCPSSubscription": a reader.
class SubscriptionBuiltinTopicData : public EndpointBuiltinTopicData {
 public:
  using EndpointBuiltinTopicData::EndpointBuiltinTopicData;
  [[nodiscard]] core::policy::TimeBasedFilter time_based_filter() const;
};

}  // namespace dds::topic

namespace spindrift::topics {

/// The name of a type, with which its description begins.
[[nodiscard]] std::string type_name_of(const std::string& description);

/// The kind of endpoints that a built-in topic tells of, by the topic's name. Nothing: it is none of them.
[[nodiscard]] std::optional<EndpointKind> builtin_kind(const std::string& topic);
[[nodiscard]] const char* builtin_topic_name(EndpointKind kind);
[[nodiscard]] const TypeSupport& builtin_type(EndpointKind kind);
/// The qualities that the topic was made with, where a topic of another participant is made alike.
[[nodiscard]] dds::topic::qos::TopicQos topic_qos(const dds::topic::TopicBuiltinTopicData& data);
/// The sample of the built-in topic.
[[nodiscard]] std::shared_ptr<const void> builtin_sample(const EndpointFacts& facts);

// Their samples do not travel, and are of no aggregate: they are made of what participants tell each other.
template <>
const TypeSupport& type_support<dds::topic::ParticipantBuiltinTopicData>();
template <>
const TypeSupport& type_support<dds::topic::TopicBuiltinTopicData>();
template <>
const TypeSupport& type_support<dds::topic::PublicationBuiltinTopicData>();
template <>
const TypeSupport& type_support<dds::topic::SubscriptionBuiltinTopicData>();

}  // namespace spindrift::topics
