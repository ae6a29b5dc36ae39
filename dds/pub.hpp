// dds::pub: publishers and writers.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <utility>

#include <spindrift/dds/participant.hpp>
#include <spindrift/dds/topic_instance.hpp>
#include <spindrift/dds/writer_statuses.hpp>

namespace spindrift::topics {

/// Calls a listener of writers for each of the statuses.
template <class Listener, class Writer>
void tell_of_writer(Listener& listener, Writer& writer, std::uint32_t statuses) {
  const auto said = [&](std::uint32_t bit) { return (statuses & bit) != 0; };
  if (said(StatusBit::offered_deadline))
    listener.on_offered_deadline_missed(writer, writer.offered_deadline_missed_status());
  if (said(StatusBit::offered_incompatible))
    listener.on_offered_incompatible_qos(writer, writer.offered_incompatible_qos_status());
  if (said(StatusBit::liveliness_lost)) listener.on_liveliness_lost(writer, writer.liveliness_lost_status());
  if (said(StatusBit::publication)) listener.on_publication_matched(writer, writer.publication_matched_status());
}

}  // namespace spindrift::topics

namespace dds::pub {

class PublisherListener;

class Publisher : public core::Reference<spindrift::topics::Surroundings> {
 public:
  using Reference::Reference;
  /// Throws UnsupportedError.
  explicit Publisher(const domain::DomainParticipant& participant)
      : Publisher(participant, participant.default_publisher_qos()) {}
  Publisher(const domain::DomainParticipant& participant, const qos::PublisherQos& qos)
      : Reference(spindrift::topics::Surroundings::make(participant.delegate(), qos,
                                                        spindrift::topics::Surroundings::Kind::publisher)) {}
  Publisher(const domain::DomainParticipant& participant, const qos::PublisherQos& qos, PublisherListener* listener,
            const core::status::StatusMask& mask = core::status::StatusMask::all())
      : Publisher(participant, qos) {
    this->listener(listener, mask);
  }
  /// The listener hears of the statuses in the mask that a writer's own is not for. It outlives the publisher and its
  /// writers, or its removal (nullptr), which waits until none of its functions runs.
  void listener(PublisherListener* listener, const core::status::StatusMask& mask);
  [[nodiscard]] PublisherListener* listener() const;  ///< null: none
  /// And, if its EntityFactory says so, its writers, where it was made without.
  void enable() { delegate()->enable(); }
  [[nodiscard]] core::status::StatusMask status_changes() const {
    return core::status::StatusMask(delegate()->status_changes());
  }
  [[nodiscard]] qos::PublisherQos qos() const { return delegate()->qos(); }
  /// Changes policies that may change; all participants hear of it, and who matches is found anew. Throws
  /// ImmutablePolicyError, and as the constructor.
  void qos(const qos::PublisherQos& qos) { delegate()->change(qos); }
  Publisher& operator<<(const qos::PublisherQos& qos) { return this->qos(qos), *this; }
  const Publisher& operator>>(qos::PublisherQos& qos) const { return qos = this->qos(), *this; }
  [[nodiscard]] domain::DomainParticipant participant() const {
    return domain::DomainParticipant(delegate()->participant());
  }
  /// The qualities of writers that are made without any; as long as nobody has set them, such a writer has its topic's.
  [[nodiscard]] qos::DataWriterQos default_datawriter_qos() const {
    return delegate()->defaults().writer.get().value_or(qos::DataWriterQos());
  }
  Publisher& default_datawriter_qos(const qos::DataWriterQos& qos) {
    return delegate()->defaults().writer.set(qos), *this;
  }
};

template <class T>
class DataWriter;

/// A writer whose type is not said.
class AnyDataWriter : public core::Reference<spindrift::topics::WriterEntity> {
 public:
  using Reference::Reference;
  [[nodiscard]] const std::string& topic_name() const { return delegate()->topic()->name(); }
  [[nodiscard]] const std::string& type_name() const { return delegate()->topic()->type().name; }
  [[nodiscard]] qos::DataWriterQos qos() const { return delegate()->qos(); }
  /// Changes policies that may change; all participants hear of it, and who matches is found anew. Throws
  /// ImmutablePolicyError, and as the constructor.
  void qos(const qos::DataWriterQos& qos) { delegate()->change(qos); }
  AnyDataWriter& operator<<(const qos::DataWriterQos& qos) { return this->qos(qos), *this; }
  const AnyDataWriter& operator>>(qos::DataWriterQos& qos) const { return qos = this->qos(), *this; }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return delegate()->handle(); }
  [[nodiscard]] Publisher publisher() const { return Publisher(delegate()->publisher()); }
  /// Returns when all participants have what was written, for good: each that lives gives it to its readers, in a moment. Of
  /// a PERSISTENT writer it is on the disks of all participants then. With BEST_EFFORT it returns at once. Throws
  /// TimeoutError, AlreadyClosedError.
  void wait_for_acknowledgments(const core::Duration& limit) { delegate()->wait_for_acknowledgments(limit); }

  [[nodiscard]] core::status::PublicationMatchedStatus publication_matched_status() const {
    return spindrift::topics::publication_matched(*delegate());
  }
  [[nodiscard]] core::status::OfferedIncompatibleQosStatus offered_incompatible_qos_status() const {
    return spindrift::topics::offered_incompatible(*delegate());
  }
  [[nodiscard]] core::status::OfferedDeadlineMissedStatus offered_deadline_missed_status() const {
    return spindrift::topics::offered_deadline(*delegate());
  }
  [[nodiscard]] core::status::LivelinessLostStatus liveliness_lost_status() const {
    return spindrift::topics::liveliness_lost(*delegate());
  }
  /// Says that it lives, as a write does: MANUAL_BY_TOPIC of itself, else of all that the participant has of its kind.
  void assert_liveliness() { delegate()->assert_liveliness(); }
  /// Lets others know of it, where its publisher made it without. Throws PreconditionNotMetError: that is not enabled.
  void enable() { delegate()->enable(); }
  [[nodiscard]] core::status::StatusMask status_changes() const {
    return core::status::StatusMask(delegate()->status_changes());
  }
  /// Throws InvalidDowncastError: it is of another type.
  template <class T>
  [[nodiscard]] DataWriter<T> get() const {
    return DataWriter<T>(spindrift::topics::typed<T>(delegate()));
  }
};

/// Hears of a writer's statuses, as [SPINDRIFT] dds_listeners says.
template <class T>
class DataWriterListener {
 public:
  virtual ~DataWriterListener() = default;
  virtual void on_offered_deadline_missed(DataWriter<T>& writer,
                                          const core::status::OfferedDeadlineMissedStatus& status) = 0;
  virtual void on_offered_incompatible_qos(DataWriter<T>& writer,
                                           const core::status::OfferedIncompatibleQosStatus& status) = 0;
  virtual void on_liveliness_lost(DataWriter<T>& writer, const core::status::LivelinessLostStatus& status) = 0;
  virtual void on_publication_matched(DataWriter<T>& writer, const core::status::PublicationMatchedStatus& status) = 0;
};
template <class T>
class NoOpDataWriterListener : public DataWriterListener<T> {
 public:
  void on_offered_deadline_missed(DataWriter<T>&, const core::status::OfferedDeadlineMissedStatus&) override {}
  void on_offered_incompatible_qos(DataWriter<T>&, const core::status::OfferedIncompatibleQosStatus&) override {}
  void on_liveliness_lost(DataWriter<T>&, const core::status::LivelinessLostStatus&) override {}
  void on_publication_matched(DataWriter<T>&, const core::status::PublicationMatchedStatus&) override {}
};

/// A sample to be: its owner fills it, and gives it to its writer.
template <class T>
class LoanedSample {
 public:
  /// Throws InvalidArgumentError: it was written.
  [[nodiscard]] T& data() {
    if (!sample_) throw core::InvalidArgumentError("the loan is over: it was written; borrow another sample");
    return *sample_;
  }
  T* operator->() { return &data(); }
  T& operator*() { return data(); }

 private:
  friend class DataWriter<T>;
  LoanedSample() : sample_(std::make_unique<T>()) {}
  void give_back() { sample_.reset(); }

  std::unique_ptr<T> sample_;
};

/// Writes samples of a topic. Any thread; what one thread writes is delivered in its order.
template <class T>
class DataWriter : public AnyDataWriter {
 public:
  using DataType = T;
  using Listener = DataWriterListener<T>;
  using AnyDataWriter::AnyDataWriter;

  /// Throws UnsupportedError, InconsistentPolicyError, InvalidArgumentError, PreconditionNotMetError, AlreadyClosedError.
  DataWriter(const Publisher& publisher, const topic::Topic<T>& topic)
      : DataWriter(publisher, topic,
                   publisher.delegate()->defaults().writer.get().value_or(qos::DataWriterQos(topic.qos()))) {}
  DataWriter(const Publisher& publisher, const topic::Topic<T>& topic, const qos::DataWriterQos& qos,
             Listener* listener = nullptr, const core::status::StatusMask& mask = core::status::StatusMask::all())
      : AnyDataWriter(
            spindrift::topics::WriterEntity::make(publisher.delegate(), topic.delegate(), qos, listening(listener, mask))) {}

  /// Returns when the sample is on its way. Throws TimeoutError: participants took nothing for Reliability's
  /// max_blocking_time; InvalidArgumentError: the sample is larger than the topic's messages; AlreadyClosedError.
  void write(const T& sample) { send(sample, std::nullopt); }
  void write(const T& sample, const core::Time& timestamp) { send(sample, timestamp); }
  /// `instance`: the sample's, as it was registered; nil: whichever it is. Throws InvalidArgumentError: this writer has no
  /// such instance; PreconditionNotMetError: the sample has other keys.
  void write(const T& sample, const core::InstanceHandle& instance) { send(sample, std::nullopt, instance); }
  void write(const T& sample, const core::InstanceHandle& instance, const core::Time& timestamp) {
    send(sample, timestamp, instance);
  }
  template <std::same_as<topic::TopicInstance<T>> Instance>
  void write(const Instance& instance) {
    write(instance.sample(), instance.handle());
  }
  template <std::same_as<topic::TopicInstance<T>> Instance>
  void write(const Instance& instance, const core::Time& timestamp) {
    write(instance.sample(), instance.handle(), timestamp);
  }
  using AnyDataWriter::operator<<;
  DataWriter& operator<<(const T& sample) { return write(sample), *this; }
  template <std::same_as<topic::TopicInstance<T>> Instance>
  DataWriter& operator<<(const Instance& instance) {
    return write(instance), *this;
  }
  /// With its time.
  template <std::same_as<std::pair<T, core::Time>> Timed>
  DataWriter& operator<<(const Timed& sample) {
    return write(sample.first, sample.second), *this;
  }
  template <class Iterator>
  void write(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) write(*begin);
  }

  /// Makes the sample where it travels, in the ring that all participants read, without a copy: `fill(T&)` gets it with all
  /// fields zero. It may take its time, but participants that come or go wait for it; what it throws goes on, and nothing is
  /// written. For types that lie in place. Throws as `write`.
  template <class Fill>
  void write_in_place(const Fill& fill) {
    static_assert(spindrift::topics::lies_in_place<T>(), "a type with strings, vectors or optionals has no place in a ring");
    static_assert(alignof(T) <= 8, "samples in a ring are aligned to 8 bytes");
    delegate()->write_in_place(sizeof(T), [&](std::span<std::byte> to) {
      T* const sample = ::new (static_cast<void*>(to.data())) T{};
      fill(*sample);
      return spindrift::topics::type_support<T>().key(sample);
    });
  }
  /// Memory for a sample, with all fields zero, which may be filled at leisure, and is copied once, when it is written.
  [[nodiscard]] LoanedSample<T> loan_sample() const { return LoanedSample<T>(); }
  /// Throws as `write`, and InvalidArgumentError: it was written already. The loan is over when it returns.
  void write(LoanedSample<T>&& loan) {
    write(loan.data());
    loan.give_back();
  }

  /// A sample of the instance that was registered or written, for its keys. Throws PreconditionNotMetError: there is none.
  T& key_value(T& sample, const core::InstanceHandle& instance) const {
    return spindrift::topics::decode_outside(delegate()->registered_sample(instance), sample);
  }
  core::InstanceHandle register_instance(const T& sample) {
    return encoded(sample, [&](auto bytes, const auto& key) { return delegate()->register_instance(bytes, key); });
  }
  DataWriter& unregister_instance(const T& sample) {
    encoded(sample, [&](auto bytes, const auto& key) { delegate()->unregister(bytes, key); });
    return *this;
  }
  DataWriter& unregister_instance(const core::InstanceHandle& instance) { return delegate()->unregister(instance), *this; }
  DataWriter& dispose_instance(const T& sample) {
    encoded(sample, [&](auto bytes, const auto& key) { delegate()->dispose(bytes, key); });
    return *this;
  }
  DataWriter& dispose_instance(const core::InstanceHandle& instance) { return delegate()->dispose(instance), *this; }
  /// Nil: this writer has no instance with the keys of the sample.
  [[nodiscard]] core::InstanceHandle lookup_instance(const T& sample) const {
    const spindrift::Digest key = spindrift::topics::type_support<T>().key(&sample);
    return delegate()->is_registered(key) ? core::InstanceHandle(key) : core::InstanceHandle::nil();
  }

  /// The listener outlives the writer, or its removal (nullptr), which waits until none of its functions runs.
  void listener(Listener* listener, const core::status::StatusMask& mask) {
    delegate()->set_listener(listening(listener, mask));
  }
  [[nodiscard]] Listener* listener() const { return static_cast<Listener*>(delegate()->listener()); }  ///< null: none
  [[nodiscard]] topic::Topic<T> topic() const { return topic::Topic<T>(delegate()->topic()); }

 private:
  static spindrift::topics::Listening listening(Listener* listener, const core::status::StatusMask& mask) {
    if (listener == nullptr) return {};
    return {[listener](std::uint32_t statuses, const std::shared_ptr<void>& entity) {
              DataWriter writer(std::static_pointer_cast<spindrift::topics::WriterEntity>(entity));
              spindrift::topics::tell_of_writer(*listener, writer, statuses);
            },
            mask, listener};
  }
  template <class Use>
  decltype(auto) encoded(const T& sample, const Use& use) {
    const spindrift::Digest key = spindrift::topics::type_support<T>().key(&sample);
    return spindrift::topics::with_encoded_outside(sample, [&](auto bytes) { return use(bytes, key); });
  }
  void send(const T& sample, const std::optional<core::Time>& when, const core::InstanceHandle& instance = {}) {
    encoded(sample, [&](auto bytes, const auto& key) {
      delegate()->check_instance(instance, key);
      delegate()->write(bytes, key, when);
    });
  }
};

/// The readers that a writer matches.
template <class T>
[[nodiscard]] core::InstanceHandleSeq matched_subscriptions(const DataWriter<T>& writer) {
  return writer.delegate()->matched();
}

}  // namespace dds::pub
