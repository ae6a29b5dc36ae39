// dds::domain and dds::topic: participants and topics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spindrift/dds/entities.hpp>

namespace dds::domain {

/// A member of the domain's group. Without a file: of this user's on this host, which the first one founds. With one: of the
/// group that it describes, whose layout has the subgroup "dds-endpoints". The last reference to it, and to all that is made
/// with it, leaves the group.
class DomainParticipant : public core::Reference<spindrift::topics::ParticipantEntity> {
 public:
  using Reference::Reference;
  /// Throws UnsupportedError, InvalidArgumentError (the configuration, too), and as Group: TimeoutError,
  /// PreconditionNotMetError, OutOfResourcesError.
  explicit DomainParticipant(std::uint32_t id, const qos::DomainParticipantQos& qos = {},
                             const std::string& config_file = "")
      : Reference(std::make_shared<spindrift::topics::ParticipantEntity>(id, qos, config_file)) {}

  [[nodiscard]] std::uint32_t domain_id() const { return delegate()->domain(); }
  [[nodiscard]] qos::DomainParticipantQos qos() const { return delegate()->qos(); }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return delegate()->handle(); }
  static qos::DomainParticipantQos default_participant_qos() { return {}; }
  static topic::qos::TopicQos default_topic_qos() { return {}; }
};

}  // namespace dds::domain

namespace dds::topic {

/// A topic of the domain: its name, type and qualities, the same at all participants. The first one makes the subgroup by
/// which it travels, if the layout has none for it.
template <class T>
class Topic : public core::Reference<spindrift::topics::TopicEntity> {
 public:
  using DataType = T;
  using Reference::Reference;
  /// Throws UnsupportedError, InconsistentPolicyError, InvalidArgumentError; PreconditionNotMetError: others have the topic
  /// with another type or Reliability, and it says both; AlreadyClosedError.
  Topic(const domain::DomainParticipant& participant, const std::string& name, const qos::TopicQos& qos = {})
      : Reference(
            spindrift::topics::TopicEntity::make(participant.delegate(), name, spindrift::topics::type_support<T>(), qos)) {}
  /// The same, where OMG's API names the type as well, which has to be `topic_type_name<T>`.
  Topic(const domain::DomainParticipant& participant, const std::string& name, const std::string& type_name,
        const qos::TopicQos& qos = {})
      : Topic(participant, name, qos) {
    if (type_name != this->type_name())
      throw core::UnsupportedError("a type has one name: specialize dds::topic::topic_type_name for " + type_name);
  }

  [[nodiscard]] const std::string& name() const { return delegate()->name(); }
  [[nodiscard]] const std::string& type_name() const { return delegate()->type().name; }
  [[nodiscard]] qos::TopicQos qos() const { return delegate()->qos(); }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return delegate()->handle(); }
  [[nodiscard]] domain::DomainParticipant participant() const {
    return domain::DomainParticipant(delegate()->participant());
  }
};

/// The samples that a reader wants. There is no SQL: fields of C++ types have no names.
template <class T>
class ContentFilteredTopic {
 public:
  /// `wants` is called as samples come, on the participant's own thread: it looks at the sample alone, and calls nothing of
  /// dds.
  ContentFilteredTopic(Topic<T> topic, std::string name, std::function<bool(const T&)> wants)
      : topic_(std::move(topic)), name_(std::move(name)), wants_(std::move(wants)) {}
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Topic<T>& topic() const { return topic_; }
  [[nodiscard]] std::function<bool(const void*)> filter() const {
    return [wants = wants_](const void* sample) { return wants(*static_cast<const T*>(sample)); };
  }

 private:
  Topic<T> topic_;
  std::string name_;
  std::function<bool(const T&)> wants_;
};

}  // namespace dds::topic
