// Participants, topics, writers and readers without their types: what the references of dds:: refer to. An entity ends with
// the last reference to it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/dds/qos.hpp>
#include <spindrift/dds/sample_cache.hpp>
#include <spindrift/dds/status.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift {
class Subgroup;
}

namespace spindrift::topics {

class DomainCore;
class ReaderCore;
class WriterCore;
struct ReaderStatuses;
struct WriterStatuses;

// All functions throw what docs/dds.md says of them: dds::core's exceptions. Any thread.

class ParticipantEntity {
 public:
  ParticipantEntity(std::uint32_t domain, const dds::domain::qos::DomainParticipantQos& qos, const std::string& file);
  [[nodiscard]] std::uint32_t domain() const;
  [[nodiscard]] const dds::domain::qos::DomainParticipantQos& qos() const { return qos_; }
  [[nodiscard]] const std::shared_ptr<DomainCore>& core() const { return core_; }

 private:
  dds::domain::qos::DomainParticipantQos qos_;
  std::shared_ptr<DomainCore> core_;
};

/// A publisher or a subscriber: what its writers or readers have in common.
class Surroundings {
 public:
  Surroundings(std::shared_ptr<ParticipantEntity> participant, const dds::pub::qos::PublisherQos& qos);
  [[nodiscard]] const std::shared_ptr<ParticipantEntity>& participant() const { return participant_; }
  [[nodiscard]] const dds::pub::qos::PublisherQos& qos() const { return qos_; }

 private:
  std::shared_ptr<ParticipantEntity> participant_;
  dds::pub::qos::PublisherQos qos_;
};

class TopicEntity {
 public:
  TopicEntity(std::shared_ptr<ParticipantEntity> participant, const std::string& name, const TypeSupport& type,
              const dds::topic::qos::TopicQos& qos);
  ~TopicEntity();
  TopicEntity(const TopicEntity&) = delete;
  TopicEntity& operator=(const TopicEntity&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TypeSupport& type() const { return type_; }
  [[nodiscard]] const dds::topic::qos::TopicQos& qos() const { return qos_; }
  [[nodiscard]] const std::shared_ptr<ParticipantEntity>& participant() const { return participant_; }
  [[nodiscard]] const Subgroup& subgroup() const { return *subgroup_; }

 private:
  std::shared_ptr<ParticipantEntity> participant_;
  std::string name_;
  const TypeSupport& type_;
  dds::topic::qos::TopicQos qos_;
  EndpointId id_;
  Subgroup* subgroup_ = nullptr;  // by which it travels
};

class WriterEntity {
 public:
  WriterEntity(std::shared_ptr<Surroundings> publisher, std::shared_ptr<TopicEntity> topic,
               const dds::pub::qos::DataWriterQos& qos);
  ~WriterEntity();
  WriterEntity(const WriterEntity&) = delete;
  WriterEntity& operator=(const WriterEntity&) = delete;

  void write(std::span<const std::byte> bytes, const Digest& key, std::optional<dds::core::Time> when);
  [[nodiscard]] dds::core::InstanceHandle register_instance(std::span<const std::byte> bytes, const Digest& key);
  void unregister(std::span<const std::byte> bytes, const Digest& key);
  void dispose(std::span<const std::byte> bytes, const Digest& key);
  /// The same of an instance that was registered or written.
  void unregister(const dds::core::InstanceHandle& instance);
  void dispose(const dds::core::InstanceHandle& instance);
  [[nodiscard]] bool is_registered(const Digest& key);
  void wait_for_acknowledgments(const dds::core::Duration& limit);

  /// `look` gets the statuses with nobody beside it; those of `bit` count as looked at then.
  void with_statuses(std::uint32_t bit, const std::function<void(WriterStatuses&)>& look);
  void set_listener(std::function<void(std::uint32_t)> call, const dds::core::status::StatusMask& mask);
  [[nodiscard]] std::uint32_t status_changes() const;
  [[nodiscard]] dds::core::InstanceHandleSeq matched() const;
  [[nodiscard]] dds::core::InstanceHandle handle() const;

  [[nodiscard]] const dds::pub::qos::DataWriterQos& qos() const { return qos_; }
  [[nodiscard]] const std::shared_ptr<TopicEntity>& topic() const { return topic_; }
  [[nodiscard]] const std::shared_ptr<Surroundings>& publisher() const { return publisher_; }

 private:
  std::shared_ptr<Surroundings> publisher_;
  std::shared_ptr<TopicEntity> topic_;
  dds::pub::qos::DataWriterQos qos_;
  std::shared_ptr<WriterCore> core_;
};

class ReaderEntity {
 public:
  /// `filter`: the samples that it wants; empty: all.
  ReaderEntity(std::shared_ptr<Surroundings> subscriber, std::shared_ptr<TopicEntity> topic,
               const dds::sub::qos::DataReaderQos& qos, std::function<bool(const void*)> filter);
  ~ReaderEntity();
  ReaderEntity(const ReaderEntity&) = delete;
  ReaderEntity& operator=(const ReaderEntity&) = delete;

  [[nodiscard]] std::vector<ReadSample> get(const SampleSelection& which, bool take);
  [[nodiscard]] bool any(const SampleSelection& which) const;
  [[nodiscard]] std::shared_ptr<const void> key_value(const Digest& instance) const;

  void with_statuses(std::uint32_t bit, const std::function<void(ReaderStatuses&)>& look);
  void set_listener(std::function<void(std::uint32_t)> call, const dds::core::status::StatusMask& mask);
  [[nodiscard]] std::uint32_t status_changes() const;
  [[nodiscard]] dds::core::InstanceHandleSeq matched() const;
  [[nodiscard]] dds::core::InstanceHandle handle() const;

  [[nodiscard]] const dds::sub::qos::DataReaderQos& qos() const { return qos_; }
  [[nodiscard]] const std::shared_ptr<TopicEntity>& topic() const { return topic_; }
  [[nodiscard]] const std::shared_ptr<Surroundings>& subscriber() const { return subscriber_; }

 private:
  std::shared_ptr<Surroundings> subscriber_;
  std::shared_ptr<TopicEntity> topic_;
  dds::sub::qos::DataReaderQos qos_;
  std::shared_ptr<ReaderCore> core_;
};

/// Throws it as the exception of dds::core that it is.
[[noreturn]] void rethrow(const Error& error);

/// As with_encoded, with errors of what cannot be encoded as dds::core's.
template <class T, class Use>
decltype(auto) with_encoded_outside(const T& value, const Use& use) {
  try {
    return with_encoded(value, use);
  } catch (const Exception& thrown) {
    rethrow(thrown.error());
  }
}

}  // namespace spindrift::topics
