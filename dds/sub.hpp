// dds::sub: subscribers, readers, and what they hand out.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <spindrift/dds/cond.hpp>
#include <spindrift/dds/data_state.hpp>
#include <spindrift/dds/participant.hpp>
#include <spindrift/dds/reader_statuses.hpp>

namespace spindrift::topics {

/// Calls a listener of readers for each of the statuses.
template <class Listener, class Reader>
void tell_of_reader(Listener& listener, Reader& reader, std::uint32_t statuses) {
  const auto said = [&](std::uint32_t bit) { return (statuses & bit) != 0; };
  if (said(StatusBit::subscription)) listener.on_subscription_matched(reader, reader.subscription_matched_status());
  if (said(StatusBit::requested_incompatible))
    listener.on_requested_incompatible_qos(reader, reader.requested_incompatible_qos_status());
  if (said(StatusBit::data)) listener.on_data_available(reader);
  if (said(StatusBit::rejected)) listener.on_sample_rejected(reader, reader.sample_rejected_status());
  if (said(StatusBit::lost)) listener.on_sample_lost(reader, reader.sample_lost_status());
  if (said(StatusBit::requested_deadline))
    listener.on_requested_deadline_missed(reader, reader.requested_deadline_missed_status());
  if (said(StatusBit::liveliness)) listener.on_liveliness_changed(reader, reader.liveliness_changed_status());
}

}  // namespace spindrift::topics

namespace dds::sub {

class SubscriberListener;

class Subscriber : public core::Reference<spindrift::topics::Surroundings> {
 public:
  using Reference::Reference;
  /// Throws UnsupportedError.
  explicit Subscriber(const domain::DomainParticipant& participant)
      : Subscriber(participant, participant.default_subscriber_qos()) {}
  Subscriber(const domain::DomainParticipant& participant, const qos::SubscriberQos& qos)
      : Reference(spindrift::topics::Surroundings::make(participant.delegate(), qos,
                                                        spindrift::topics::Surroundings::Kind::subscriber)) {}
  Subscriber(const domain::DomainParticipant& participant, const qos::SubscriberQos& qos, SubscriberListener* listener,
             const core::status::StatusMask& mask = core::status::StatusMask::all())
      : Subscriber(participant, qos) {
    this->listener(listener, mask);
  }
  /// The listener hears of the statuses in the mask that a reader's own is not for; and by `on_data_on_readers`, if that is
  /// in the mask, of samples of all readers. It outlives the subscriber and its readers, or its removal (nullptr), which
  /// waits until none of its functions runs.
  void listener(SubscriberListener* listener, const core::status::StatusMask& mask);
  [[nodiscard]] SubscriberListener* listener() const;  ///< null: none
  /// Calls `on_data_available` of the listeners of those readers that have samples: for `on_data_on_readers`, on its thread.
  void notify_datareaders();
  /// And, if its EntityFactory says so, its readers, where it was made without.
  void enable() { delegate()->enable(); }
  [[nodiscard]] core::status::StatusMask status_changes() const {
    return core::status::StatusMask(delegate()->status_changes());
  }
  [[nodiscard]] qos::SubscriberQos qos() const { return delegate()->qos(); }
  /// Changes policies that may change; all participants hear of it, and who matches is found anew. Throws
  /// ImmutablePolicyError, and as the constructor.
  void qos(const qos::SubscriberQos& qos) { delegate()->change(qos); }
  Subscriber& operator<<(const qos::SubscriberQos& qos) { return this->qos(qos), *this; }
  const Subscriber& operator>>(qos::SubscriberQos& qos) const { return qos = this->qos(), *this; }
  [[nodiscard]] domain::DomainParticipant participant() const {
    return domain::DomainParticipant(delegate()->participant());
  }
  /// The qualities of readers that are made without any.
  [[nodiscard]] qos::DataReaderQos default_datareader_qos() const {
    return delegate()->defaults().reader.get().value_or(spindrift::topics::omg_reader_qos());
  }
  Subscriber& default_datareader_qos(const qos::DataReaderQos& qos) {
    return delegate()->defaults().reader.set(qos), *this;
  }
};

/// A sample, or news of an instance, which has no data.
template <class T>
class Sample {
 public:
  /// One without data.
  Sample() = default;
  explicit Sample(spindrift::topics::ReadSample&& read)
      : info_(read), data_(std::static_pointer_cast<const T>(std::move(read.data))) {}
  /// Throws PreconditionNotMetError: `info().valid()` is false.
  [[nodiscard]] const T& data() const {
    if (data_ == nullptr)
      throw core::PreconditionNotMetError("the sample has no data, but news of its instance: ask info().valid()");
    return *data_;
  }
  operator const T&() const { return data(); }  // NOLINT: implicit as in OMG's API
  [[nodiscard]] const SampleInfo& info() const { return info_; }

 private:
  SampleInfo info_;
  std::shared_ptr<const T> data_;
};

/// Samples that were read or taken. They are the reader's own memory, which all readers of the participant share; each stays
/// as long as anything refers to it, so there is nothing to return.
template <class T>
class LoanedSamples {
 public:
  using const_iterator = typename std::vector<Sample<T>>::const_iterator;
  LoanedSamples() = default;
  explicit LoanedSamples(std::vector<spindrift::topics::ReadSample> read) {
    samples_.reserve(read.size());
    for (auto& each : read) samples_.emplace_back(std::move(each));
  }
  [[nodiscard]] const_iterator begin() const { return samples_.begin(); }
  [[nodiscard]] const_iterator end() const { return samples_.end(); }
  [[nodiscard]] std::uint32_t length() const { return static_cast<std::uint32_t>(samples_.size()); }
  [[nodiscard]] const Sample<T>& operator[](std::size_t at) const { return samples_.at(at); }
  void return_loan() { samples_.clear(); }

 private:
  std::vector<Sample<T>> samples_;
};

template <class T>
class DataReader;

/// A reader whose type is not said.
class AnyDataReader : public core::Reference<spindrift::topics::ReaderEntity> {
 public:
  using Reference::Reference;
  [[nodiscard]] const std::string& topic_name() const { return delegate()->topic()->name(); }
  [[nodiscard]] const std::string& type_name() const { return delegate()->topic()->type().name; }
  [[nodiscard]] qos::DataReaderQos qos() const { return delegate()->qos(); }
  /// Changes policies that may change; all participants hear of it, and who matches is found anew. Throws
  /// ImmutablePolicyError, and as the constructor.
  void qos(const qos::DataReaderQos& qos) { delegate()->change(qos); }
  AnyDataReader& operator<<(const qos::DataReaderQos& qos) { return this->qos(qos), *this; }
  const AnyDataReader& operator>>(qos::DataReaderQos& qos) const { return qos = this->qos(), *this; }
  [[nodiscard]] core::InstanceHandle instance_handle() const { return delegate()->handle(); }
  [[nodiscard]] Subscriber subscriber() const { return Subscriber(delegate()->subscriber()); }

  [[nodiscard]] core::status::SubscriptionMatchedStatus subscription_matched_status() const {
    return spindrift::topics::subscription_matched(*delegate());
  }
  [[nodiscard]] core::status::RequestedIncompatibleQosStatus requested_incompatible_qos_status() const {
    return spindrift::topics::requested_incompatible(*delegate());
  }
  [[nodiscard]] core::status::RequestedDeadlineMissedStatus requested_deadline_missed_status() const {
    return spindrift::topics::requested_deadline(*delegate());
  }
  [[nodiscard]] core::status::LivelinessChangedStatus liveliness_changed_status() const {
    return spindrift::topics::liveliness_changed(*delegate());
  }
  [[nodiscard]] core::status::SampleLostStatus sample_lost_status() const {
    return spindrift::topics::sample_lost(*delegate());
  }
  [[nodiscard]] core::status::SampleRejectedStatus sample_rejected_status() const {
    return spindrift::topics::sample_rejected(*delegate());
  }
  [[nodiscard]] core::status::StatusMask status_changes() const {
    return core::status::StatusMask(delegate()->status_changes());
  }
  /// Lets others know of it, where its subscriber made it without. Throws PreconditionNotMetError: that is not enabled.
  void enable() { delegate()->enable(); }
  /// Throws InvalidDowncastError: it is of another type.
  template <class T>
  [[nodiscard]] DataReader<T> get() const {
    return DataReader<T>(spindrift::topics::typed<T>(delegate()));
  }
};

}  // namespace dds::sub

namespace dds::sub::cond {

/// A reader has samples in such states.
class ReadCondition : public core::cond::Condition {
 public:
  ReadCondition(const AnyDataReader& reader, const status::DataState& state) : ReadCondition(reader, selection(state)) {}
  template <class Handler>
  ReadCondition(const AnyDataReader& reader, const status::DataState& state, const Handler& handler)
      : ReadCondition(reader, state) {
    this->handler(handler);
  }
  /// As Condition's; the handler may take a ReadCondition.
  template <class Handler>
  void handler(const Handler& handler) {
    handle_as(*this, handler);
  }
  /// spindrift's own: the samples that it waits for, of that reader.
  [[nodiscard]] const spindrift::topics::SampleSelection& samples() const { return *which_; }
  [[nodiscard]] bool is_of(const AnyDataReader& reader) const { return reader_.lock() == reader.delegate(); }

 protected:
  ReadCondition(const AnyDataReader& reader, spindrift::topics::SampleSelection which)
      : ReadCondition(reader, std::make_shared<const spindrift::topics::SampleSelection>(std::move(which))) {}
  static spindrift::topics::SampleSelection selection(const status::DataState& state) {
    spindrift::topics::SampleSelection which;
    state.put(which);
    return which;
  }

 private:
  ReadCondition(const AnyDataReader& reader, std::shared_ptr<const spindrift::topics::SampleSelection> which)
      : Condition([weak = std::weak_ptr(reader.delegate()), which] {
          const auto alive = weak.lock();
          return alive && alive->any(*which);
        }),
        reader_(reader.delegate()),
        which_(std::move(which)) {}

  std::weak_ptr<spindrift::topics::ReaderEntity> reader_;
  std::shared_ptr<const spindrift::topics::SampleSelection> which_;
};

/// And whose data match: by a function, where OMG's Query has SQL.
class QueryCondition : public ReadCondition {
  /// It takes the reader's type, whatever it is made of.
  template <class T>
  using Matches = std::type_identity_t<std::function<bool(const T&)>>;

 public:
  template <class T>
  QueryCondition(const DataReader<T>& reader, Matches<T> matches, const status::DataState& state)
      : ReadCondition(reader, selection<T>(state, std::move(matches))) {}
  template <class T, class Handler>
  QueryCondition(const DataReader<T>& reader, Matches<T> matches, const status::DataState& state, const Handler& handler)
      : QueryCondition(reader, std::move(matches), state) {
    this->handler(handler);
  }

 private:
  template <class T>
  static spindrift::topics::SampleSelection selection(const status::DataState& state,
                                                      std::function<bool(const T&)> matches) {
    spindrift::topics::SampleSelection which = ReadCondition::selection(state);
    which.matches = [matches = std::move(matches)](const void* sample) { return matches(*static_cast<const T*>(sample)); };
    return which;
  }
};

}  // namespace dds::sub::cond

namespace dds::sub {

/// Hears of a reader's statuses, as [SPINDRIFT] dds_listeners says.
template <class T>
class DataReaderListener {
 public:
  virtual ~DataReaderListener() = default;
  virtual void on_requested_deadline_missed(DataReader<T>& reader, const core::status::RequestedDeadlineMissedStatus&) = 0;
  virtual void on_requested_incompatible_qos(DataReader<T>& reader, const core::status::RequestedIncompatibleQosStatus&) = 0;
  virtual void on_sample_rejected(DataReader<T>& reader, const core::status::SampleRejectedStatus&) = 0;
  virtual void on_liveliness_changed(DataReader<T>& reader, const core::status::LivelinessChangedStatus&) = 0;
  virtual void on_data_available(DataReader<T>& reader) = 0;
  virtual void on_subscription_matched(DataReader<T>& reader, const core::status::SubscriptionMatchedStatus&) = 0;
  virtual void on_sample_lost(DataReader<T>& reader, const core::status::SampleLostStatus&) = 0;
};
template <class T>
class NoOpDataReaderListener : public DataReaderListener<T> {
 public:
  void on_requested_deadline_missed(DataReader<T>&, const core::status::RequestedDeadlineMissedStatus&) override {}
  void on_requested_incompatible_qos(DataReader<T>&, const core::status::RequestedIncompatibleQosStatus&) override {}
  void on_sample_rejected(DataReader<T>&, const core::status::SampleRejectedStatus&) override {}
  void on_liveliness_changed(DataReader<T>&, const core::status::LivelinessChangedStatus&) override {}
  void on_data_available(DataReader<T>&) override {}
  void on_subscription_matched(DataReader<T>&, const core::status::SubscriptionMatchedStatus&) override {}
  void on_sample_lost(DataReader<T>&, const core::status::SampleLostStatus&) override {}
};

/// Reads samples of a topic. Any thread.
template <class T>
class DataReader : public AnyDataReader {
 public:
  using DataType = T;
  using Listener = DataReaderListener<T>;
  using AnyDataReader::AnyDataReader;

  /// Throws UnsupportedError, InconsistentPolicyError, InvalidArgumentError, PreconditionNotMetError, AlreadyClosedError.
  DataReader(const Subscriber& subscriber, const topic::Topic<T>& topic)
      : DataReader(subscriber, topic, subscriber.default_datareader_qos()) {}
  DataReader(const Subscriber& subscriber, const topic::Topic<T>& topic, const qos::DataReaderQos& qos,
             Listener* listener = nullptr, const core::status::StatusMask& mask = core::status::StatusMask::all())
      : DataReader(subscriber, topic, qos, std::function<bool(const void*)>(), listener, mask) {}
  DataReader(const Subscriber& subscriber, const topic::ContentFilteredTopic<T>& topic)
      : DataReader(subscriber, topic, subscriber.default_datareader_qos()) {}
  DataReader(const Subscriber& subscriber, const topic::ContentFilteredTopic<T>& topic, const qos::DataReaderQos& qos,
             Listener* listener = nullptr,
             const core::status::StatusMask& mask = core::status::StatusMask::all())
      : DataReader(subscriber, topic.topic(), qos, topic.filter(), listener, mask) {}

  [[nodiscard]] LoanedSamples<T> read() { return select().read(); }
  LoanedSamples<T> take() { return select().take(); }
  /// The history for late joiners is there when the reader is made: so it returns at once.
  void wait_for_historical_data(const core::Duration& /*limit*/) const { static_cast<void>(this->delegate()); }
  /// Into samples that are there, at most so many; or into an inserter, all. How many there were.
  template <class Iterator>
  std::uint32_t read(Iterator to, std::uint32_t most) {
    return select().read(to, most);
  }
  template <class Iterator>
  std::uint32_t take(Iterator to, std::uint32_t most) {
    return select().take(to, most);
  }
  template <class Inserter>
  std::uint32_t read(Inserter to) {
    return select().read(to);
  }
  template <class Inserter>
  std::uint32_t take(Inserter to) {
    return select().take(to);
  }
  /// The samples for which the condition holds. Throws PreconditionNotMetError: it is of another reader.
  [[nodiscard]] LoanedSamples<T> read_w_condition(const cond::ReadCondition& condition) {
    return select().condition(condition).read();
  }
  [[nodiscard]] LoanedSamples<T> take_w_condition(const cond::ReadCondition& condition) {
    return select().condition(condition).take();
  }

  /// The samples to read or take, said step by step: `reader.select().max_samples(5).state(DataState::new_data()).take()`.
  class Selector {
   public:
    explicit Selector(const DataReader& reader) : reader_(reader) {}
    Selector& max_samples(std::uint32_t most) { return which_.most = most, *this; }
    Selector& instance(const core::InstanceHandle& instance) { return which_.instance = instance.name(), *this; }
    /// The first instance behind that one, in an order that stays; behind nil: the first of all.
    Selector& next_instance(const core::InstanceHandle& instance) {
      if (instance.is_nil())
        which_.from_first = true;
      else
        which_.behind = instance.name();
      return *this;
    }
    Selector& condition(const cond::ReadCondition& condition) {
      if (!condition.is_of(reader_)) throw core::PreconditionNotMetError("the condition is of another reader");
      const std::size_t most = which_.most;
      which_ = condition.samples();
      which_.most = most;
      return *this;
    }
    Selector& state(const status::DataState& state) { return state.put(which_), *this; }
    /// In place of OMG's Query, whose SQL names fields.
    Selector& content(std::function<bool(const T&)> matches) {
      which_.matches = [matches = std::move(matches)](const void* sample) {
        return matches(*static_cast<const T*>(sample));
      };
      return *this;
    }
    [[nodiscard]] LoanedSamples<T> read() { return LoanedSamples<T>(reader_.delegate()->get(which_, false)); }
    [[nodiscard]] LoanedSamples<T> take() { return LoanedSamples<T>(reader_.delegate()->get(which_, true)); }
    template <class Iterator>
    std::uint32_t read(Iterator to, std::uint32_t most) {
      return max_samples(most).read(to);
    }
    template <class Iterator>
    std::uint32_t take(Iterator to, std::uint32_t most) {
      return max_samples(most).take(to);
    }
    template <class Inserter>
    std::uint32_t read(Inserter to) {
      return copy(read(), to);
    }
    template <class Inserter>
    std::uint32_t take(Inserter to) {
      return copy(take(), to);
    }

   private:
    template <class Iterator>
    static std::uint32_t copy(const LoanedSamples<T>& samples, Iterator to) {
      for (const Sample<T>& each : samples) *to++ = each;
      return samples.length();
    }

    DataReader reader_;
    spindrift::topics::SampleSelection which_;
  };
  [[nodiscard]] Selector select() const { return Selector(*this); }

  /// The instance's last sample, for its keys. Throws InvalidArgumentError: this reader has no such instance.
  T key_value(T& sample, const core::InstanceHandle& instance) const {
    const auto value = std::static_pointer_cast<const T>(delegate()->key_value(instance.name()));
    if (!value) throw core::InvalidArgumentError("the handle names no instance of this reader");
    return sample = *value;
  }
  /// Nil: this reader has no instance with the keys of the sample.
  [[nodiscard]] core::InstanceHandle lookup_instance(const T& sample) const {
    const spindrift::Digest key = spindrift::topics::type_support<T>().key(&sample);
    return delegate()->key_value(key) ? core::InstanceHandle(key) : core::InstanceHandle::nil();
  }

  /// The listener outlives the reader, or its removal (nullptr), which waits until none of its functions runs.
  void listener(Listener* listener, const core::status::StatusMask& mask) {
    delegate()->set_listener(listening(listener, mask));
  }
  [[nodiscard]] Listener* listener() const { return static_cast<Listener*>(delegate()->listener()); }  ///< null: none
  [[nodiscard]] topic::Topic<T> topic_description() const { return topic::Topic<T>(delegate()->topic()); }

 private:
  DataReader(const Subscriber& subscriber, const topic::Topic<T>& topic, const qos::DataReaderQos& qos,
             std::function<bool(const void*)> filter, Listener* listener, const core::status::StatusMask& mask)
      : AnyDataReader(spindrift::topics::ReaderEntity::make(subscriber.delegate(), topic.delegate(), qos, std::move(filter),
                                                            listening(listener, mask))) {}
  static spindrift::topics::Listening listening(Listener* listener, const core::status::StatusMask& mask) {
    if (listener == nullptr) return {};
    return {[listener](std::uint32_t statuses, const std::shared_ptr<void>& entity) {
              DataReader reader(std::static_pointer_cast<spindrift::topics::ReaderEntity>(entity));
              spindrift::topics::tell_of_reader(*listener, reader, statuses);
            },
            mask, listener};
  }
};

/// The writers that a reader matches.
template <class T>
[[nodiscard]] core::InstanceHandleSeq matched_publications(const DataReader<T>& reader) {
  return reader.delegate()->matched();
}

}  // namespace dds::sub
