// Policies as the rules of writers and readers, and the refusals of those that are not here.
#include <spindrift/dds/settings.hpp>

#include <string>

namespace spindrift::topics {
namespace {

using namespace dds::core::policy;
using dds::core::Duration;
using dds::core::InconsistentPolicyError;
using dds::core::InvalidArgumentError;
using dds::core::UnsupportedError;

[[noreturn]] void refuse(const std::string& policy, const std::string& why) {
  throw UnsupportedError("policy " + policy + " is not supported so: " + why);
}
[[noreturn]] void contradict(const std::string& words) { throw InconsistentPolicyError(words); }

template <class Data>
void check_data(const Data& data, const char* policy) {
  if (data.value().size() > opaque_bytes_max)
    throw InvalidArgumentError(std::string("policy ") + policy + ": there are more than " +
                               std::to_string(opaque_bytes_max) + " bytes; publish them as a topic");
}

void check_limits(const History& history, const ResourceLimits& limits) {
  for (const std::int32_t each : {limits.max_samples(), limits.max_instances(), limits.max_samples_per_instance()}) {
    if (each != LENGTH_UNLIMITED && each < 1)
      throw InvalidArgumentError("policy ResourceLimits: a limit is 1 or more, or LENGTH_UNLIMITED");
  }
  if (history.kind() == HistoryKind::KEEP_LAST && (history.depth() < 1 || history.depth() > UINT16_MAX)) {
    throw InvalidArgumentError("policy History: a depth is 1 to 65535");
  }
  const std::int32_t of_instance = limits.max_samples_per_instance();
  if (history.kind() == HistoryKind::KEEP_LAST && of_instance != LENGTH_UNLIMITED && of_instance < history.depth()) {
    contradict("policies History and ResourceLimits: the depth is more than max_samples_per_instance");
  }
  if (limits.max_samples() != LENGTH_UNLIMITED && of_instance != LENGTH_UNLIMITED && limits.max_samples() < of_instance) {
    contradict("policy ResourceLimits: max_samples is less than max_samples_per_instance");
  }
}

/// The policies that readers, writers and topics have in common.
template <class Qos>
void check_common(const Qos& qos) {
  const auto& liveliness = qos.template policy<Liveliness>();
  if (liveliness.lease_duration() == Duration::zero())
    throw InvalidArgumentError("policy Liveliness: a lease_duration is more than zero");
  if (qos.template policy<Deadline>().period() == Duration::zero())
    throw InvalidArgumentError("policy Deadline: a period is more than zero");
  check_limits(qos.template policy<History>(), qos.template policy<ResourceLimits>());
}

template <class Qos>
void check_sent(const Qos& qos) {
  check_common(qos);
  if (qos.template policy<TransportPriority>().value() != 0)
    refuse("TransportPriority", "all topics share what carries them alike");
  const auto& service = qos.template policy<DurabilityService>();
  if (service.service_cleanup_delay() != Duration::zero())
    refuse("DurabilityService",
           "an instance stays in the history until newer samples take its place, so service_cleanup_delay is zero");
  if (service.history_kind() != HistoryKind::KEEP_LAST)
    refuse("DurabilityService", "a history of all would grow for ever; keep the last ones");
  if (service.history_depth() < 1 || service.history_depth() > UINT16_MAX)
    throw InvalidArgumentError("policy DurabilityService: a history_depth is 1 to 65535");
  for (const std::int32_t each : {service.max_samples(), service.max_instances(), service.max_samples_per_instance()}) {
    if (each != LENGTH_UNLIMITED) refuse("DurabilityService", "the history's depth is its only limit");
  }
}

std::uint8_t number(auto kind) { return static_cast<std::uint8_t>(kind); }
std::size_t bound(std::int32_t limit) { return limit == LENGTH_UNLIMITED ? 0 : static_cast<std::size_t>(limit); }

std::vector<std::string> names(const Partition& partition) {
  if (partition.name().size() > partition_count_max)
    throw InvalidArgumentError("policy Partition: there are more than " + std::to_string(partition_count_max) + " names");
  for (const std::string& each : partition.name()) {
    if (each.size() > topic_name_bytes_max) throw InvalidArgumentError("policy Partition: a name has more than 256 bytes");
  }
  return partition.name();
}

template <class Qos>
EndpointTimes times(const Qos& qos) {
  EndpointTimes made;
  made.deadline = qos.template policy<Deadline>().period().to_nanosecs();
  made.latency = qos.template policy<LatencyBudget>().duration().to_nanosecs();
  made.lease = qos.template policy<Liveliness>().lease_duration().to_nanosecs();
  made.blocking = qos.template policy<Reliability>().max_blocking_time().to_nanosecs();
  if constexpr (Qos::template has<Lifespan>) made.lifespan = qos.template policy<Lifespan>().duration().to_nanosecs();
  if constexpr (Qos::template has<TimeBasedFilter>)
    made.separation = qos.template policy<TimeBasedFilter>().minimum_separation().to_nanosecs();
  return made;
}

template <class Qos>
EndpointKept kept(const Qos& qos) {
  const auto& history = qos.template policy<History>();
  const auto& limits = qos.template policy<ResourceLimits>();
  EndpointKept made{.history = number(history.kind()),
                    .depth = history.depth(),
                    .samples_max = limits.max_samples(),
                    .instances_max = limits.max_instances(),
                    .instance_samples_max = limits.max_samples_per_instance()};
  if constexpr (Qos::template has<DurabilityService>)
    made.service_depth = qos.template policy<DurabilityService>().history_depth();
  return made;
}

/// The qualities that writers, readers and topics have.
template <class Qos>
EndpointQos of_any(const Qos& qos) {
  EndpointQos made;
  made.reliability = number(qos.template policy<Reliability>().kind());
  made.durability = number(qos.template policy<Durability>().kind());
  made.ownership = number(qos.template policy<Ownership>().kind());
  made.destination_order = number(qos.template policy<DestinationOrder>().kind());
  made.liveliness = number(qos.template policy<Liveliness>().kind());
  made.times = times(qos);
  made.kept = kept(qos);
  return made;
}

/// The qualities that writers offer and readers request alike.
template <class Qos>
EndpointQos common(const Qos& qos, const dds::pub::qos::PublisherQos& around) {
  EndpointQos made = of_any(qos);
  made.access_scope = number(around.policy<Presentation>().access_scope());
  made.ordered_access = around.policy<Presentation>().ordered_access() ? 1 : 0;
  made.data.own = qos.template policy<UserData>().value();
  made.data.group = around.policy<GroupData>().value();
  made.partitions = names(around.policy<Partition>());
  return made;
}

}  // namespace

void check(const dds::domain::qos::DomainParticipantQos& qos) { check_data(qos.policy<UserData>(), "UserData"); }

EndpointQos told(const dds::domain::qos::DomainParticipantQos& qos) {
  EndpointQos made;
  made.data.own = qos.policy<UserData>().value();
  return made;
}

EndpointQos told(const dds::topic::qos::TopicQos& qos) {
  EndpointQos made = of_any(qos);
  made.data.topic = qos.policy<TopicData>().value();
  return made;
}

void check(const dds::topic::qos::TopicQos& qos) {
  check_data(qos.policy<TopicData>(), "TopicData");
  check_sent(qos);
  if (qos.policy<Durability>().kind() != DurabilityKind::VOLATILE &&
      qos.policy<Reliability>().kind() == ReliabilityKind::BEST_EFFORT)
    contradict(
        "policies Durability and Reliability: a topic that keeps samples for late joiners has one order, so it is RELIABLE");
}

void check(const dds::pub::qos::PublisherQos& qos) {
  check_data(qos.policy<GroupData>(), "GroupData");
  const auto& presentation = qos.policy<Presentation>();
  if (presentation.access_scope() == PresentationAccessScopeKind::GROUP)
    refuse("Presentation", "topics have no order among each other, so GROUP is no access scope");
  if (presentation.coherent_access()) refuse("Presentation", "samples are not put together to coherent sets");
  static_cast<void>(names(qos.policy<Partition>()));
}

EndpointQos offered(const dds::pub::qos::DataWriterQos& qos, const dds::pub::qos::PublisherQos& publisher,
                    const dds::topic::qos::TopicQos& topic) {
  check_data(qos.policy<UserData>(), "UserData");
  check_sent(qos);
  EndpointQos made = common(qos, publisher);
  made.strength = qos.policy<OwnershipStrength>().value();
  made.data.topic = topic.policy<TopicData>().value();
  if (topic.policy<Reliability>().kind() == ReliabilityKind::BEST_EFFORT) {
    // Writers offer nothing that their topic does not keep.
    if (made.durability > 0) contradict("policy Durability: the topic is BEST_EFFORT, which keeps nothing for late joiners");
    if (made.ordered_access > 0 || made.access_scope > 0)
      contradict("policy Presentation: the topic is BEST_EFFORT, which has no order");
    made.reliability = 0;
  }
  return made;
}

WriterRules writer_rules(const dds::pub::qos::DataWriterQos& qos) {
  WriterRules rules;
  rules.blocking_ns_max = qos.policy<Reliability>().max_blocking_time().to_nanosecs();
  rules.lifespan_ns = qos.policy<Lifespan>().duration().to_nanosecs();
  rules.strength = qos.policy<OwnershipStrength>().value();
  rules.disposes = qos.policy<WriterDataLifecycle>().autodispose_unregistered_instances();
  switch (qos.policy<Durability>().kind()) {
    case DurabilityKind::VOLATILE: break;
    case DurabilityKind::TRANSIENT_LOCAL:
      if (qos.policy<History>().kind() == HistoryKind::KEEP_ALL)
        refuse("History",
               "a TRANSIENT_LOCAL writer's history is what late joiners get, and all of it would grow for ever; keep the "
               "last ones");
      rules.depth = static_cast<std::uint16_t>(qos.policy<History>().depth());
      break;
    case DurabilityKind::TRANSIENT:
    case DurabilityKind::PERSISTENT:
      rules.depth = static_cast<std::uint16_t>(qos.policy<DurabilityService>().history_depth());
      break;
  }
  return rules;
}

EndpointQos requested(const dds::sub::qos::DataReaderQos& qos, const dds::sub::qos::SubscriberQos& subscriber,
                      const dds::topic::qos::TopicQos& topic) {
  check_data(qos.policy<UserData>(), "UserData");
  check_common(qos);
  if (qos.policy<TimeBasedFilter>().minimum_separation() > qos.policy<Deadline>().period())
    contradict("policies TimeBasedFilter and Deadline: the minimum_separation is more than the period");
  EndpointQos made = common(qos, subscriber);
  made.data.topic = topic.policy<TopicData>().value();
  return made;
}

CacheRules cache_rules(const dds::sub::qos::DataReaderQos& qos) {
  const auto& history = qos.policy<History>();
  const auto& limits = qos.policy<ResourceLimits>();
  CacheRules rules;
  rules.depth = history.kind() == HistoryKind::KEEP_ALL ? 0 : static_cast<std::size_t>(history.depth());
  rules.samples_max = bound(limits.max_samples());
  rules.instances_max = bound(limits.max_instances());
  rules.instance_samples_max = bound(limits.max_samples_per_instance());
  rules.separation_ns = qos.policy<TimeBasedFilter>().minimum_separation().to_nanosecs();
  const auto& lifecycle = qos.policy<ReaderDataLifecycle>();
  rules.no_writers_ns_max = lifecycle.autopurge_nowriter_samples_delay().to_nanosecs();
  rules.disposed_ns_max = lifecycle.autopurge_disposed_samples_delay().to_nanosecs();
  rules.exclusive = qos.policy<Ownership>().kind() == OwnershipKind::EXCLUSIVE;
  rules.by_source = qos.policy<DestinationOrder>().kind() == DestinationOrderKind::BY_SOURCE_TIMESTAMP;
  rules.waits = history.kind() == HistoryKind::KEEP_ALL && qos.policy<Reliability>().kind() == ReliabilityKind::RELIABLE;
  return rules;
}

}  // namespace spindrift::topics
