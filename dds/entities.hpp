// Participants, publishers, subscribers and topics without their types: what the references of dds:: refer to. An entity
// ends with the last reference to it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/dds/living.hpp>
#include <spindrift/dds/qos.hpp>
#include <spindrift/dds/read_sample.hpp>
#include <spindrift/dds/status.hpp>
#include <spindrift/dds/status_board.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift {
class Subgroup;
}

namespace spindrift::topics {

class DomainCore;
class ReaderEntity;
class Surroundings;
class TopicEntity;
struct TopicCore;
class WriterEntity;

/// The listener of an entity: what calls it, and the statuses that it hears of. No call: there is none.
struct Listening {
  ListenerCall call{};
  dds::core::status::StatusMask mask{};
  void* listener = nullptr;
};

/// The qualities of what a participant makes where the program says none.
struct ParticipantDefaults {
  Replaceable<dds::topic::qos::TopicQos> topic{};
  Replaceable<dds::pub::qos::PublisherQos> publisher{};
  Replaceable<dds::sub::qos::SubscriberQos> subscriber{};
};
/// The same of a publisher or subscriber. None: those of the topic, or OMG's.
struct EndpointDefaults {
  Replaceable<std::optional<dds::pub::qos::DataWriterQos>> writer{};
  Replaceable<std::optional<dds::sub::qos::DataReaderQos>> reader{};
};
/// As OMG has it: readers ask for less than writers offer.
[[nodiscard]] dds::sub::qos::DataReaderQos omg_reader_qos();
/// The qualities of this process's participants, where the program says none.
[[nodiscard]] Replaceable<dds::domain::qos::DomainParticipantQos>& participant_defaults();

// All functions throw what docs/dds.md says of them: dds::core's exceptions. Any thread.

class ParticipantEntity {
 public:
  [[nodiscard]] static std::shared_ptr<ParticipantEntity> make(std::uint32_t domain,
                                                               const dds::domain::qos::DomainParticipantQos& qos,
                                                               const std::string& file);
  /// One of the process in that domain; null: there is none.
  [[nodiscard]] static std::shared_ptr<ParticipantEntity> find(std::uint32_t domain);
  ParticipantEntity(std::uint32_t domain, const dds::domain::qos::DomainParticipantQos& qos, const std::string& file);
  explicit ParticipantEntity(std::shared_ptr<DomainCore> core);
  ~ParticipantEntity();
  ParticipantEntity(const ParticipantEntity&) = delete;
  ParticipantEntity& operator=(const ParticipantEntity&) = delete;

  [[nodiscard]] const std::shared_ptr<StatusBoard>& board() const { return board_; }
  void set_listener(const Listening& listening);
  [[nodiscard]] void* listener() const;
  [[nodiscard]] std::uint32_t status_changes() const;
  /// Closes all that was made with it, and leaves.
  void close();
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] ParticipantDefaults& defaults() { return defaults_; }
  [[nodiscard]] std::uint32_t domain() const;
  [[nodiscard]] dds::domain::qos::DomainParticipantQos qos() const { return qos_.get(); }
  void change(const dds::domain::qos::DomainParticipantQos& qos);
  [[nodiscard]] const std::shared_ptr<DomainCore>& core() const { return core_; }
  [[nodiscard]] dds::core::InstanceHandle handle() const;
  /// The topics that were made with it, and live.
  [[nodiscard]] Living<TopicEntity>& topics() { return topics_; }
  [[nodiscard]] Living<Surroundings>& builtin_subscribers() { return builtin_subscribers_; }
  [[nodiscard]] Living<Surroundings>& surroundings() { return surroundings_; }

  void assert_liveliness();
  /// Whether what is made with it is enabled at once.
  [[nodiscard]] bool enables() const;
  /// Lets this participant behave as if what the handle names were not there.
  void ignore(const dds::core::InstanceHandle& handle);
  /// The topics that participants of the domain have, each of each; nothing within the time: none of that name.
  [[nodiscard]] std::vector<EndpointFacts> discovered_topics() const;
  [[nodiscard]] std::optional<EndpointFacts> await_topic(const std::string& name, const dds::core::Duration& limit) const;

 private:
  Replaceable<dds::domain::qos::DomainParticipantQos> qos_;
  std::mutex changing_;  // one change at a time
  std::shared_ptr<DomainCore> core_;
  std::shared_ptr<StatusBoard> board_;
  Living<TopicEntity> topics_;
  Living<Surroundings> builtin_subscribers_;
  Living<Surroundings> surroundings_;
  ParticipantDefaults defaults_;
  std::atomic<bool> closed_{false};
};

/// A publisher or a subscriber: what its writers or readers have in common.
class Surroundings {
 public:
  enum class Kind : std::uint8_t { publisher, subscriber, builtin_subscriber };
  [[nodiscard]] static std::shared_ptr<Surroundings> make(const std::shared_ptr<ParticipantEntity>& participant,
                                                          const dds::pub::qos::PublisherQos& qos, Kind kind);
  Surroundings(std::shared_ptr<ParticipantEntity> participant, const dds::pub::qos::PublisherQos& qos, Kind kind);
  ~Surroundings();
  Surroundings(const Surroundings&) = delete;
  Surroundings& operator=(const Surroundings&) = delete;

  [[nodiscard]] const std::shared_ptr<StatusBoard>& board() const { return board_; }
  void set_listener(const Listening& listening);
  [[nodiscard]] void* listener() const;
  [[nodiscard]] std::uint32_t status_changes() const;
  /// Closes its writers and readers.
  void close();
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] EndpointDefaults& defaults() { return defaults_; }
  [[nodiscard]] const std::shared_ptr<ParticipantEntity>& participant() const { return participant_; }
  [[nodiscard]] dds::pub::qos::PublisherQos qos() const { return qos_.get(); }
  /// Its writers and readers are told of anew.
  void change(const dds::pub::qos::PublisherQos& qos);
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  [[nodiscard]] bool enabled() const noexcept { return enabled_; }
  /// And, if its EntityFactory says so, its writers and readers.
  void enable();
  /// Whether what is made with it is enabled at once.
  [[nodiscard]] bool enables() const;
  [[nodiscard]] Living<WriterEntity>& writers() { return writers_; }
  [[nodiscard]] Living<ReaderEntity>& readers() { return readers_; }

 private:
  std::shared_ptr<ParticipantEntity> participant_;
  Replaceable<dds::pub::qos::PublisherQos> qos_;
  std::mutex changing_;  // one change at a time
  const Kind kind_;
  std::shared_ptr<StatusBoard> board_;
  std::atomic<bool> enabled_;
  Living<WriterEntity> writers_;
  Living<ReaderEntity> readers_;
  EndpointDefaults defaults_;
  std::atomic<bool> closed_{false};
};

/// The participant's subscriber of built-in topics: one, as long as anything refers to it.
[[nodiscard]] std::shared_ptr<Surroundings> builtin_subscriber(const std::shared_ptr<ParticipantEntity>& participant);
/// The subscriber's readers of that topic. A built-in one is made where there is none.
[[nodiscard]] std::vector<std::shared_ptr<ReaderEntity>> readers_of(const std::shared_ptr<Surroundings>& subscriber,
                                                                    const std::string& topic);

class TopicEntity {
 public:
  [[nodiscard]] static std::shared_ptr<TopicEntity> make(const std::shared_ptr<ParticipantEntity>& participant,
                                                         const std::string& name, const TypeSupport& type,
                                                         const dds::topic::qos::TopicQos& qos, const Listening& listening);
  TopicEntity(std::shared_ptr<ParticipantEntity> participant, const std::string& name, const TypeSupport& type,
              const dds::topic::qos::TopicQos& qos);
  /// A built-in one, of which nobody is told.
  TopicEntity(std::shared_ptr<ParticipantEntity> participant, EndpointKind kind);
  ~TopicEntity();
  TopicEntity(const TopicEntity&) = delete;
  TopicEntity& operator=(const TopicEntity&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TypeSupport& type() const { return type_; }
  [[nodiscard]] dds::topic::qos::TopicQos qos() const { return qos_.get(); }
  /// Its writers and readers stay as they were told of.
  void change(const dds::topic::qos::TopicQos& qos);
  [[nodiscard]] const std::shared_ptr<ParticipantEntity>& participant() const { return participant_; }
  [[nodiscard]] const Subgroup& subgroup() const { return *subgroup_; }
  /// Lets others know of it.
  void enable();
  /// Throws NotEnabledError.
  void check_enabled() const;
  void set_listener(const Listening& listening);
  [[nodiscard]] void* listener() const;
  [[nodiscard]] std::uint32_t status_changes() const;
  /// Throws PreconditionNotMetError: it has writers or readers.
  void close();
  /// The same without a question.
  void end();
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  /// How often others were refused the topic; it counts as looked at.
  [[nodiscard]] dds::core::status::InconsistentTopicStatus inconsistent();
  [[nodiscard]] dds::core::InstanceHandle handle() const;

 private:
  void tell();
  [[nodiscard]] EndpointFacts facts(const dds::topic::qos::TopicQos& qos) const;

  std::shared_ptr<ParticipantEntity> participant_;
  std::string name_;
  const TypeSupport& type_;
  Replaceable<dds::topic::qos::TopicQos> qos_;
  std::mutex changing_;  // one change at a time
  EndpointId id_;
  std::atomic<Subgroup*> subgroup_{nullptr};  // by which it travels; null: it is not enabled
  std::shared_ptr<TopicCore> core_;
  std::atomic<bool> closed_{false};
};

/// Throws it as the exception of dds::core that it is.
[[noreturn]] void rethrow(const Error& error);

/// Calls, and throws as dds::core what is thrown beneath.
template <class Call>
decltype(auto) outside(const Call& call) {
  try {
    return call();
  } catch (const Exception& thrown) {
    rethrow(thrown.error());
  }
}

/// The sample of such bytes, put into `value`.
template <class T>
T& decode_outside(const std::vector<std::byte>& bytes, T& value) {
  const auto decoded = outside([&] { return value_or_throw(type_support<T>().decode(bytes)); });
  return value = *static_cast<const T*>(decoded.get());
}

/// As with_encoded, with errors of what cannot be encoded as dds::core's.
template <class T, class Use>
decltype(auto) with_encoded_outside(const T& value, const Use& use) {
  return outside([&]() -> decltype(auto) { return with_encoded(value, use); });
}

}  // namespace spindrift::topics
