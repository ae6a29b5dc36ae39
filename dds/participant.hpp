// dds::domain and dds::topic: participants and topics.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <spindrift/dds/endpoint_entities.hpp>

namespace dds::domain {

class DomainParticipantListener;

/// The domain of programs that name none.
[[nodiscard]] inline std::uint32_t default_id() { return 0; }

/// A member of the domain's group. Without a file: of this user's on this host, which the first one founds. With one: of the
/// group that it describes, whose layout has the subgroup "dds-endpoints". The last reference to it, and to all that is made
/// with it, leaves the group.
class DomainParticipant : public core::Reference<spindrift::topics::ParticipantEntity> {
 public:
  using Reference::Reference;
  /// Throws UnsupportedError, InvalidArgumentError (the configuration, too), and as Group: TimeoutError,
  /// PreconditionNotMetError, OutOfResourcesError.
  explicit DomainParticipant(std::uint32_t id, const qos::DomainParticipantQos& qos = default_participant_qos(),
                             const std::string& config_file = "")
      : Reference(spindrift::topics::ParticipantEntity::make(id, qos, config_file)) {}
  DomainParticipant(std::uint32_t id, const qos::DomainParticipantQos& qos, DomainParticipantListener* listener,
                    const core::status::StatusMask& mask = core::status::StatusMask::all(),
                    const std::string& config_file = "")
      : DomainParticipant(id, qos, config_file) {
    this->listener(listener, mask);
  }

  /// The listener hears of the statuses in the mask that no listener of the entity itself, or of its publisher or
  /// subscriber, is for. It outlives the participant and all that is made with it, or its removal (nullptr), which waits
  /// until none of its functions runs.
  void listener(DomainParticipantListener* listener, const core::status::StatusMask& mask);
  [[nodiscard]] DomainParticipantListener* listener() const;  ///< null: none
  [[nodiscard]] core::status::StatusMask status_changes() const {
    return core::status::StatusMask(delegate()->status_changes());
  }

  [[nodiscard]] std::uint32_t domain_id() const { return delegate()->domain(); }
  [[nodiscard]] qos::DomainParticipantQos qos() const { return delegate()->qos(); }
  /// Changes policies that may change; all participants hear of it, and who matches is found anew. Throws
  /// ImmutablePolicyError, and as the constructor.
  void qos(const qos::DomainParticipantQos& qos) { delegate()->change(qos); }
  DomainParticipant& operator<<(const qos::DomainParticipantQos& qos) { return this->qos(qos), *this; }
  const DomainParticipant& operator>>(qos::DomainParticipantQos& qos) const { return qos = this->qos(), *this; }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return delegate()->handle(); }
  /// Says that all its writers of MANUAL_BY_PARTICIPANT live. Throws AlreadyClosedError.
  void assert_liveliness() { delegate()->assert_liveliness(); }
  /// A participant is enabled when it is made.
  void enable() {}
  /// By the clock that stamps what this participant writes.
  [[nodiscard]] core::Time current_time() const { return core::Time::from_nanosecs(spindrift::topics::wall_ns()); }
  // The qualities of what is made without any: of participants of this process, and with this participant.
  [[nodiscard]] static qos::DomainParticipantQos default_participant_qos() {
    return spindrift::topics::participant_defaults().get();
  }
  static void default_participant_qos(const qos::DomainParticipantQos& qos) {
    spindrift::topics::participant_defaults().set(qos);
  }
  [[nodiscard]] topic::qos::TopicQos default_topic_qos() const { return delegate()->defaults().topic.get(); }
  DomainParticipant& default_topic_qos(const topic::qos::TopicQos& qos) {
    return delegate()->defaults().topic.set(qos), *this;
  }
  [[nodiscard]] pub::qos::PublisherQos default_publisher_qos() const { return delegate()->defaults().publisher.get(); }
  DomainParticipant& default_publisher_qos(const pub::qos::PublisherQos& qos) {
    return delegate()->defaults().publisher.set(qos), *this;
  }
  [[nodiscard]] sub::qos::SubscriberQos default_subscriber_qos() const { return delegate()->defaults().subscriber.get(); }
  DomainParticipant& default_subscriber_qos(const sub::qos::SubscriberQos& qos) {
    return delegate()->defaults().subscriber.set(qos), *this;
  }
};

/// A participant of this process in that domain; nil: there is none.
[[nodiscard]] inline DomainParticipant find(std::uint32_t domain) {
  return DomainParticipant(spindrift::topics::ParticipantEntity::find(domain));
}

}  // namespace dds::domain

namespace dds::topic {

template <class T>
class Topic;

/// A topic whose type is not said.
class AnyTopic : public core::Reference<spindrift::topics::TopicEntity> {
 public:
  using Reference::Reference;
  [[nodiscard]] const std::string& name() const { return delegate()->name(); }
  [[nodiscard]] const std::string& type_name() const { return delegate()->type().name; }
  [[nodiscard]] qos::TopicQos qos() const { return delegate()->qos(); }
  /// Changes policies that may change; all participants hear of it, and who matches is found anew. Throws
  /// ImmutablePolicyError, and as the constructor.
  void qos(const qos::TopicQos& qos) { delegate()->change(qos); }
  AnyTopic& operator<<(const qos::TopicQos& qos) { return this->qos(qos), *this; }
  const AnyTopic& operator>>(qos::TopicQos& qos) const { return qos = this->qos(), *this; }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return delegate()->handle(); }
  [[nodiscard]] domain::DomainParticipant participant() const {
    return domain::DomainParticipant(delegate()->participant());
  }
  /// Lets others know of it, where its participant made it without. Throws as the constructor.
  void enable() { delegate()->enable(); }
  [[nodiscard]] core::status::InconsistentTopicStatus inconsistent_topic_status() const {
    return delegate()->inconsistent();
  }
  [[nodiscard]] core::status::StatusMask status_changes() const {
    return core::status::StatusMask(delegate()->status_changes());
  }
  /// Throws InvalidDowncastError: it is of another type.
  template <class T>
  [[nodiscard]] Topic<T> get() const {
    return Topic<T>(spindrift::topics::typed<T>(delegate()));
  }
};

/// Hears of a topic's statuses, as [SPINDRIFT] dds_listeners says.
template <class T>
class TopicListener {
 public:
  virtual ~TopicListener() = default;
  virtual void on_inconsistent_topic(Topic<T>& topic, const core::status::InconsistentTopicStatus& status) = 0;
};
template <class T>
class NoOpTopicListener : public TopicListener<T> {
 public:
  void on_inconsistent_topic(Topic<T>&, const core::status::InconsistentTopicStatus&) override {}
};

/// A topic of the domain: its name, type and qualities, the same at all participants. The first one makes the subgroup by
/// which it travels, if the layout has none for it.
template <class T>
class Topic : public AnyTopic {
 public:
  using DataType = T;
  using Listener = TopicListener<T>;
  using AnyTopic::AnyTopic;
  /// Throws UnsupportedError, InconsistentPolicyError, InvalidArgumentError; PreconditionNotMetError: others have the topic
  /// with another type or Reliability, and it says both; AlreadyClosedError.
  Topic(const domain::DomainParticipant& participant, const std::string& name)
      : Topic(participant, name, participant.default_topic_qos()) {}
  Topic(const domain::DomainParticipant& participant, const std::string& name, const qos::TopicQos& qos,
        Listener* listener = nullptr, const core::status::StatusMask& mask = core::status::StatusMask::all())
      : AnyTopic(spindrift::topics::TopicEntity::make(participant.delegate(), name, spindrift::topics::type_support<T>(),
                                                      qos, listening(listener, mask))) {}
  /// The same, where OMG's API names the type as well, which has to be `topic_type_name<T>`.
  Topic(const domain::DomainParticipant& participant, const std::string& name, const std::string& type_name)
      : Topic(participant, name, type_name, participant.default_topic_qos()) {}
  Topic(const domain::DomainParticipant& participant, const std::string& name, const std::string& type_name,
        const qos::TopicQos& qos)
      : Topic(participant, name, qos) {
    if (type_name != this->type_name())
      throw core::UnsupportedError("a type has one name: specialize dds::topic::topic_type_name for " + type_name);
  }

  /// The listener outlives the topic, or its removal (nullptr), which waits until none of its functions runs.
  void listener(Listener* listener, const core::status::StatusMask& mask) {
    delegate()->set_listener(listening(listener, mask));
  }
  [[nodiscard]] Listener* listener() const { return static_cast<Listener*>(delegate()->listener()); }  ///< null: none

 private:
  static spindrift::topics::Listening listening(Listener* listener, const core::status::StatusMask& mask) {
    if (listener == nullptr) return {};
    return {[listener](std::uint32_t, const std::shared_ptr<void>& entity) {
              Topic topic(std::static_pointer_cast<spindrift::topics::TopicEntity>(entity));
              listener->on_inconsistent_topic(topic, topic.inconsistent_topic_status());
            },
            mask, listener};
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
