// Observers of C++ types: qualities that they cannot have are refused before they begin.
#include <spindrift/dds/topic_observer.hpp>

#include <spindrift/dds/settings.hpp>

namespace spindrift::topics {
namespace {

using namespace dds::core::policy;
using dds::core::Duration;

[[noreturn]] void refuse(const std::string& policy, const std::string& why) {
  throw dds::core::UnsupportedError("policy " + policy + ": " + why + "; read the topic as a participant (DataReader)");
}

/// A reader and what has to outlive it, whoever lets go of what first.
struct KeptReader {
  std::shared_ptr<DomainObserver> domain;
  std::shared_ptr<ObservedReader> reader;  // ends first
};

void check_observes(const dds::sub::qos::DataReaderQos& qos) {
  if (qos.policy<Durability>().kind() != DurabilityKind::VOLATILE)
    refuse("Durability", "an observer reads what comes from now on, and is given no history");
  if (cache_rules(qos).waits)
    refuse("Reliability", "an observer holds up no writer, so it is not RELIABLE with KEEP_ALL");
  const char* const unwatched = "an observer watches no times";
  if (qos.policy<Liveliness>().lease_duration() != Duration::infinite()) refuse("Liveliness", unwatched);
  if (qos.policy<Deadline>().period() != Duration::infinite()) refuse("Deadline", unwatched);
  const auto& lifecycle = qos.policy<ReaderDataLifecycle>();
  if (lifecycle.autopurge_nowriter_samples_delay() != Duration::infinite() ||
      lifecycle.autopurge_disposed_samples_delay() != Duration::infinite())
    refuse("ReaderDataLifecycle", unwatched);
}

}  // namespace

std::shared_ptr<DomainObserver> observe_domain(std::uint32_t domain, const std::string& file) {
  check_domain(domain);
  auto made = outside([&] { return std::make_shared<DomainObserver>(domain, file, std::vector<ConfigOverride>()); });
  if (outside([&] { return made->suffices(); })) return made;
  throw dds::core::PreconditionNotMetError(
      "domain " + std::to_string(domain) +
      ": no participant of this host shows what it has, so it can have some on other hosts; be a participant, or start one "
      "here of this release");
}

std::shared_ptr<ObservedReader> observe_topic(std::shared_ptr<DomainObserver> domain, const std::string& topic,
                                              const TypeSupport& type, const dds::sub::qos::DataReaderQos& qos,
                                              const dds::sub::qos::SubscriberQos& around,
                                              std::function<bool(const void*)> filter) {
  check_topic(topic, type);
  check(around);
  ObservedTopic observed{.facts = {.kind = EndpointKind::reader, .topic = topic, .type = type.description},
                         .type = &type,
                         .filter = std::move(filter),
                         .strangers = Strangers::awaited};
  observed.facts.qos = requested(qos, around, dds::topic::qos::TopicQos());
  check_observes(qos);
  observed.rules = cache_rules(qos);
  const auto kept = std::make_shared<KeptReader>(KeptReader{std::move(domain), nullptr});
  kept->reader = outside([&] { return kept->domain->read(std::move(observed)); });
  return {kept, kept->reader.get()};
}

}  // namespace spindrift::topics
