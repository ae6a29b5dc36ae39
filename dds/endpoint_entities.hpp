// Writers and readers without their types.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <spindrift/dds/entities.hpp>

namespace spindrift::topics {

class ReaderCore;
class WriterCore;
struct ReaderStatuses;
struct WriterStatuses;

// All functions throw what docs/dds.md says of them: dds::core's exceptions. Any thread.

class WriterEntity {
 public:
  [[nodiscard]] static std::shared_ptr<WriterEntity> make(const std::shared_ptr<Surroundings>& publisher,
                                                          const std::shared_ptr<TopicEntity>& topic,
                                                          const dds::pub::qos::DataWriterQos& qos,
                                                          const Listening& listening);
  WriterEntity(std::shared_ptr<Surroundings> publisher, std::shared_ptr<TopicEntity> topic,
               const dds::pub::qos::DataWriterQos& qos);
  ~WriterEntity();
  WriterEntity(const WriterEntity&) = delete;
  WriterEntity& operator=(const WriterEntity&) = delete;

  /// Lets others know of it.
  void enable();
  void assert_liveliness();
  void write(std::span<const std::byte> bytes, const Digest& key, std::optional<dds::core::Time> when);
  /// `fill` makes the sample where it travels, and returns its key.
  void write_in_place(std::uint64_t bytes, const std::function<Digest(std::span<std::byte>)>& fill);
  /// The bytes of a sample of an instance that was registered or written.
  [[nodiscard]] std::vector<std::byte> registered_sample(const dds::core::InstanceHandle& instance) const;
  [[nodiscard]] dds::core::InstanceHandle register_instance(std::span<const std::byte> bytes, const Digest& key);
  void unregister(std::span<const std::byte> bytes, const Digest& key);
  void dispose(std::span<const std::byte> bytes, const Digest& key);
  /// The same of an instance that was registered or written.
  void unregister(const dds::core::InstanceHandle& instance);
  void dispose(const dds::core::InstanceHandle& instance);
  [[nodiscard]] bool is_registered(const Digest& key);
  /// Throws InvalidArgumentError: this writer has no such instance; PreconditionNotMetError: it is of other keys.
  void check_instance(const dds::core::InstanceHandle& instance, const Digest& key);
  void wait_for_acknowledgments(const dds::core::Duration& limit);

  /// `look` gets the statuses with nobody beside it; those of `bit` count as looked at then.
  void with_statuses(std::uint32_t bit, const std::function<void(WriterStatuses&)>& look);
  /// Returns when the listener before is not called any more.
  void set_listener(const Listening& listening);
  [[nodiscard]] void* listener() const;
  void close();
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] std::uint32_t status_changes() const;
  [[nodiscard]] dds::core::InstanceHandleSeq matched() const;
  /// A reader that it matches.
  [[nodiscard]] EndpointFacts matched(const dds::core::InstanceHandle& reader) const;
  [[nodiscard]] dds::core::InstanceHandle handle() const;

  [[nodiscard]] dds::pub::qos::DataWriterQos qos() const { return qos_.get(); }
  void change(const dds::pub::qos::DataWriterQos& qos);
  [[nodiscard]] const std::shared_ptr<TopicEntity>& topic() const { return topic_; }
  [[nodiscard]] const std::shared_ptr<Surroundings>& publisher() const { return publisher_; }

 private:
  void tell();
  void check_enabled() const;

  std::shared_ptr<Surroundings> publisher_;
  std::shared_ptr<TopicEntity> topic_;
  Replaceable<dds::pub::qos::DataWriterQos> qos_;
  std::mutex changing_;  // one change at a time
  std::shared_ptr<WriterCore> core_;
  std::atomic<bool> enabled_{false};
  std::atomic<bool> closed_{false};
};

class ReaderEntity {
 public:
  /// `filter`: the samples that it wants; empty: all.
  [[nodiscard]] static std::shared_ptr<ReaderEntity> make(const std::shared_ptr<Surroundings>& subscriber,
                                                          const std::shared_ptr<TopicEntity>& topic,
                                                          const dds::sub::qos::DataReaderQos& qos,
                                                          std::function<bool(const void*)> filter,
                                                          const Listening& listening);
  ReaderEntity(std::shared_ptr<Surroundings> subscriber, std::shared_ptr<TopicEntity> topic,
               const dds::sub::qos::DataReaderQos& qos, std::function<bool(const void*)> filter);
  ~ReaderEntity();
  ReaderEntity(const ReaderEntity&) = delete;
  ReaderEntity& operator=(const ReaderEntity&) = delete;

  /// Lets others know of it.
  void enable();
  [[nodiscard]] std::vector<ReadSample> get(const SampleSelection& which, bool take);
  [[nodiscard]] bool any(const SampleSelection& which) const;
  /// Tells its listener that it has samples, if that is so.
  void notify();
  [[nodiscard]] std::shared_ptr<const void> key_value(const Digest& instance) const;

  void with_statuses(std::uint32_t bit, const std::function<void(ReaderStatuses&)>& look);
  /// Returns when the listener before is not called any more.
  void set_listener(const Listening& listening);
  [[nodiscard]] void* listener() const;
  void close();
  [[nodiscard]] bool closed() const noexcept { return closed_; }
  [[nodiscard]] std::uint32_t status_changes() const;
  [[nodiscard]] dds::core::InstanceHandleSeq matched() const;
  /// A writer that it matches.
  [[nodiscard]] EndpointFacts matched(const dds::core::InstanceHandle& writer) const;
  [[nodiscard]] dds::core::InstanceHandle handle() const;

  [[nodiscard]] dds::sub::qos::DataReaderQos qos() const { return qos_.get(); }
  void change(const dds::sub::qos::DataReaderQos& qos);
  [[nodiscard]] const std::shared_ptr<TopicEntity>& topic() const { return topic_; }
  [[nodiscard]] const std::shared_ptr<Surroundings>& subscriber() const { return subscriber_; }

 private:
  [[nodiscard]] bool builtin() const { return subscriber_->kind() == Surroundings::Kind::builtin_subscriber; }
  void tell();

  std::shared_ptr<Surroundings> subscriber_;
  std::shared_ptr<TopicEntity> topic_;
  Replaceable<dds::sub::qos::DataReaderQos> qos_;
  std::mutex changing_;  // one change at a time
  std::shared_ptr<ReaderCore> core_;
  std::atomic<bool> enabled_{false};
  std::atomic<bool> closed_{false};
};

/// The entity of that type. Throws InvalidDowncastError: it is of another.
template <class T, class Entity>
[[nodiscard]] const std::shared_ptr<Entity>& typed(const std::shared_ptr<Entity>& entity) {
  const TypeSupport* type = nullptr;
  if constexpr (std::is_same_v<Entity, TopicEntity>)
    type = &entity->type();
  else
    type = &entity->topic()->type();
  if (type != &type_support<T>())
    throw dds::core::InvalidDowncastError("the entity is of type " + type->name + ", not of " + type_support<T>().name);
  return entity;
}

}  // namespace spindrift::topics
