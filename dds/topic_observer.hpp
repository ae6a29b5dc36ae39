// Readers of topics that are no members of the domain's group, which OMG's API does not have: nobody waits for them, no
// majority counts them, and no writer matches them.
//
//   #include <spindrift/dds/topic_observer.hpp>
//
//   dds::domain::DomainObserver domain(0);
//   dds::sub::TopicObserver<Attitude> observer(domain, "vehicle_attitude");
//   dds::core::cond::WaitSet waitset;
//   waitset += dds::core::cond::StatusCondition(observer);
//   waitset.wait();
//   for (const auto& sample : observer.take()) if (sample.info().valid()) use(sample.data());
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <spindrift/dds/domain_observer.hpp>
#include <spindrift/dds/observed_reader.hpp>
#include <spindrift/dds/sub.hpp>

namespace spindrift::topics {

/// Throws UnsupportedError, PreconditionNotMetError, InvalidArgumentError, OutOfResourcesError.
[[nodiscard]] std::shared_ptr<DomainObserver> observe_domain(std::uint32_t domain, const std::string& file);
/// The reader keeps the domain's observer. Throws UnsupportedError, InconsistentPolicyError, InvalidArgumentError,
/// PreconditionNotMetError, OutOfResourcesError.
[[nodiscard]] std::shared_ptr<ObservedReader> observe_topic(std::shared_ptr<DomainObserver> domain, const std::string& topic,
                                                            const TypeSupport& type,
                                                            const dds::sub::qos::DataReaderQos& qos,
                                                            const dds::sub::qos::SubscriberQos& around,
                                                            std::function<bool(const void*)> filter);

}  // namespace spindrift::topics

namespace dds::domain {

/// Looks at a domain without being in it: at what participants of this host have. They may come, go and come again.
class DomainObserver : public core::Reference<spindrift::topics::DomainObserver> {
 public:
  using Reference::Reference;
  /// `config_file`: as DomainParticipant's. Waits for participants that have just begun, two seconds at most. Throws
  /// PreconditionNotMetError: the domain's participants are, or may be, on other hosts alone, or of an earlier release, so a
  /// participant alone can read it here; others could write the directory in which participants show what they have;
  /// InvalidArgumentError; OutOfResourcesError.
  explicit DomainObserver(std::uint32_t id, const std::string& config_file = "")
      : Reference(spindrift::topics::observe_domain(id, config_file)) {}

  /// How many participants the domain has.
  [[nodiscard]] std::size_t participants() const { return delegate()->participants(); }
};

}  // namespace dds::domain

namespace dds::sub {

/// Reads a topic as an observer, from now on: of writers that are there, and that come. One that is too slow is overtaken,
/// and counts what it lacks. Any thread.
///
/// A StatusCondition of it holds while samples have come that nobody has looked at, and when nothing comes any more.
template <class T>
class TopicObserver : public core::Reference<spindrift::topics::ObservedReader> {
 public:
  using DataType = T;
  using Reference::Reference;
  /// Without qualities it matches any writer of the topic in the partition "", and keeps the last sample of each instance.
  /// The topic need not be there yet. `wants`, if it is not empty, is called on a thread of the observer's own for each
  /// sample: it looks at that alone, and calls nothing of dds. Throws
  /// UnsupportedError: a history, RELIABLE with KEEP_ALL, which would hold up writers, a lease, a deadline, or samples that
  /// are to go by themselves; PreconditionNotMetError: the domain has the topic with another type; InconsistentPolicyError,
  /// InvalidArgumentError, OutOfResourcesError.
  TopicObserver(const domain::DomainObserver& domain, const std::string& topic,
                const qos::DataReaderQos& qos = spindrift::topics::omg_reader_qos(),
                const qos::SubscriberQos& around = qos::SubscriberQos(), std::function<bool(const T&)> wants = {})
      : Reference(spindrift::topics::observe_topic(domain.delegate(), topic, spindrift::topics::type_support<T>(), qos,
                                                   around, erased(std::move(wants)))) {}

  [[nodiscard]] const std::string& topic_name() const { return this->delegate()->topic(); }
  /// All samples that it keeps. Throws, once none is left: PreconditionNotMetError: the domain has the topic with another
  /// type now; what else has ended it.
  [[nodiscard]] LoanedSamples<T> read() { return LoanedSamples<T>(get(false)); }
  /// The same, and lets go of them.
  LoanedSamples<T> take() { return LoanedSamples<T>(get(true)); }
  /// So many samples are missing so far: overtaken, by the numbers that writers give them, or dropped here, for nobody took
  /// them.
  [[nodiscard]] std::uint64_t lost() const { return this->delegate()->lost(); }
  /// It was overtaken behind the last sample of some writer, of which nothing has come since, or which is gone: whether more
  /// are missing than `lost` counts is not known.
  [[nodiscard]] bool more_may_be_lost() const { return this->delegate()->more_may_be_lost(); }
  /// The writers that it matches.
  [[nodiscard]] core::InstanceHandleSeq matched_publications() const {
    core::InstanceHandleSeq handles;
    for (const auto& each : this->delegate()->matched()) handles.emplace_back(each.id.name());
    return handles;
  }

 private:
  static std::function<bool(const void*)> erased(std::function<bool(const T&)> wants) {
    if (!wants) return {};
    return [wants = std::move(wants)](const void* sample) { return wants(*static_cast<const T*>(sample)); };
  }
  [[nodiscard]] std::vector<spindrift::topics::ReadSample> get(bool take) const {
    return spindrift::topics::outside([&] { return this->delegate()->get({}, take); });
  }
};

}  // namespace dds::sub
