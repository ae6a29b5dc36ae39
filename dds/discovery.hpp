// The domain as a participant knows it, and its own entities by name: built-in subscribers, `find`, `discover` and
// `ignore`, as OMG's API has them. Any thread. All throw NullReferenceError where an entity is nil.
#pragma once

#include <string>
#include <vector>

#include <spindrift/dds/builtin_topics.hpp>
#include <spindrift/dds/pub.hpp>
#include <spindrift/dds/sub.hpp>

namespace dds::topic {

/// The topic of that name that was made with the participant, of that type; nil: there is none. Throws InvalidDowncastError:
/// it is of another type.
template <class TopicType>
[[nodiscard]] TopicType find(const domain::DomainParticipant& participant, const std::string& name) {
  for (const auto& each : participant.delegate()->topics().all()) {
    if (each->name() == name) return TopicType(spindrift::topics::typed<typename TopicType::DataType>(each));
  }
  return TopicType(core::null);
}

/// The first topic of that name that any participant of the domain has; one of no name: nobody has it within the time.
[[nodiscard]] inline TopicBuiltinTopicData discover_any_topic(const domain::DomainParticipant& participant,
                                                              const std::string& name,
                                                              const core::Duration& limit = core::Duration::infinite()) {
  const auto facts = participant.delegate()->await_topic(name, limit);
  return facts ? TopicBuiltinTopicData(*facts) : TopicBuiltinTopicData();
}
/// The topics of all participants, each of each, into the iterator. How many there are.
template <class Inserter>
std::uint32_t discover_any_topics(const domain::DomainParticipant& participant, Inserter to) {
  std::uint32_t count = 0;
  for (auto& each : participant.delegate()->discovered_topics()) {
    *to++ = TopicBuiltinTopicData(std::move(each));
    ++count;
  }
  return count;
}
/// Returns the topic, made with this participant as others have it, once any has; nil: nobody within the time. Throws as
/// Topic: PreconditionNotMetError: it is of another type.
template <class TopicType>
[[nodiscard]] TopicType discover_topic(const domain::DomainParticipant& participant, const std::string& name,
                                       const core::Duration& limit = core::Duration::infinite()) {
  if (TopicType own = find<TopicType>(participant, name); !own.is_nil()) return own;
  const auto facts = participant.delegate()->await_topic(name, limit);
  if (!facts) return TopicType(core::null);
  const TopicBuiltinTopicData data(*facts);
  return TopicType(participant, name, spindrift::topics::topic_qos(data));
}
/// As the formal text names it.
template <class TopicType>
[[nodiscard]] TopicType discover(const domain::DomainParticipant& participant, const std::string& name,
                                 const core::Duration& limit = core::Duration::infinite()) {
  return discover_topic<TopicType>(participant, name, limit);
}

/// From now on the writers and readers of that participant's topic match nothing here.
inline void ignore(const domain::DomainParticipant& participant, const core::InstanceHandle& topic) {
  participant.delegate()->ignore(topic);
}

}  // namespace dds::topic

namespace dds::domain {

/// From now on all writers and readers of the other participant match nothing here.
inline void ignore(const DomainParticipant& participant, const core::InstanceHandle& other) {
  participant.delegate()->ignore(other);
}
template <class Iterator>
void ignore(const DomainParticipant& participant, Iterator begin, Iterator end) {
  for (; begin != end; ++begin) ignore(participant, *begin);
}

}  // namespace dds::domain

namespace dds::pub {

/// The publisher's writers of that topic, into the iterator. How many there are. Throws InvalidDowncastError: one is of
/// another type.
template <class Writer, class Inserter>
std::uint32_t find(const Publisher& publisher, const std::string& topic, Inserter to) {
  std::uint32_t count = 0;
  for (const auto& each : publisher.delegate()->writers().all()) {
    if (each->topic()->name() != topic) continue;
    *to++ = Writer(spindrift::topics::typed<typename Writer::DataType>(each));
    ++count;
  }
  return count;
}

/// From now on that writer matches no reader here, and none of its samples come.
inline void ignore(const domain::DomainParticipant& participant, const core::InstanceHandle& writer) {
  participant.delegate()->ignore(writer);
}
template <class Iterator>
void ignore(const domain::DomainParticipant& participant, Iterator begin, Iterator end) {
  for (; begin != end; ++begin) ignore(participant, *begin);
}

/// A reader that the writer matches. Throws InvalidArgumentError: it matches none of that handle.
template <class T>
[[nodiscard]] topic::SubscriptionBuiltinTopicData matched_subscription_data(const DataWriter<T>& writer,
                                                                            const core::InstanceHandle& reader) {
  return topic::SubscriptionBuiltinTopicData(writer.delegate()->matched(reader));
}

}  // namespace dds::pub

namespace dds::sub {

/// The subscriber of the built-in topics. Its readers are found by `find`, each of which has one sample for each instance,
/// and all that there is when it is found first.
[[nodiscard]] inline Subscriber builtin_subscriber(const domain::DomainParticipant& participant) {
  return Subscriber(spindrift::topics::builtin_subscriber(participant.delegate()));
}

/// The subscriber's readers of that topic, into the iterator. How many there are. Throws InvalidDowncastError: one is of
/// another type.
template <class Reader, class Inserter>
std::uint32_t find(const Subscriber& subscriber, const std::string& topic, Inserter to) {
  std::uint32_t count = 0;
  for (const auto& each : spindrift::topics::readers_of(subscriber.delegate(), topic)) {
    *to++ = Reader(spindrift::topics::typed<typename Reader::DataType>(each));
    ++count;
  }
  return count;
}

/// From now on that reader matches no writer here.
inline void ignore(const domain::DomainParticipant& participant, const core::InstanceHandle& reader) {
  participant.delegate()->ignore(reader);
}
template <class Iterator>
void ignore(const domain::DomainParticipant& participant, Iterator begin, Iterator end) {
  for (; begin != end; ++begin) ignore(participant, *begin);
}

/// A writer that the reader matches. Throws InvalidArgumentError: it matches none of that handle.
template <class T>
[[nodiscard]] topic::PublicationBuiltinTopicData matched_publication_data(const DataReader<T>& reader,
                                                                          const core::InstanceHandle& writer) {
  return topic::PublicationBuiltinTopicData(reader.delegate()->matched(writer));
}

}  // namespace dds::sub
