// Qualities of service: the policies of each kind of entity, put in with <<.
#pragma once

#include <tuple>
#include <type_traits>

#include <spindrift/dds/policy.hpp>

namespace dds::core {

/// A set of policies. `qos << Reliability::Reliable() << History::KeepLast(10)` replaces two of them; one that the entity
/// does not have does not compile.
template <class... Policies>
class EntityQos {
 public:
  EntityQos() = default;
  /// Takes the policies that both kinds have, as a writer's of its topic's.
  template <class... Others>
  EntityQos(const EntityQos<Others...>& others) {  // NOLINT: implicit by design
    const auto take = [&]<class Policy>(const Policy& policy) {
      if constexpr (has<Policy>) *this << policy;
    };
    (take(others.template policy<Others>()), ...);
  }

  template <class Policy>
  static constexpr bool has = (std::is_same_v<Policy, Policies> || ...);

  template <class Policy>
  requires has<Policy> EntityQos& operator<<(const Policy& policy) {
    std::get<Policy>(policies_) = policy;
    return *this;
  }
  template <class Policy>
  requires has<Policy>
  const EntityQos& operator>>(Policy& policy) const {
    policy = std::get<Policy>(policies_);
    return *this;
  }
  template <class Policy>
  requires has<Policy>
  [[nodiscard]] const Policy& policy() const { return std::get<Policy>(policies_); }
  template <class Policy>
  requires has<Policy>
  [[nodiscard]] Policy& policy() { return std::get<Policy>(policies_); }
  template <class Policy>
  requires has<Policy> EntityQos& policy(const Policy& policy) { return *this << policy; }
  bool operator==(const EntityQos&) const = default;
  /// spindrift's own: calls with each policy.
  template <class Use>
  void for_each(const Use& use) const {
    (use(std::get<Policies>(policies_)), ...);
  }

 private:
  std::tuple<Policies...> policies_;
};

}  // namespace dds::core

namespace dds::domain::qos {
using DomainParticipantQos = core::EntityQos<core::policy::UserData, core::policy::EntityFactory>;
}
namespace dds::topic::qos {
using namespace core::policy;
/// Its Reliability says how the topic's samples travel: RELIABLE, the default here, by atomic multicast, in one order for
/// all readers; BEST_EFFORT on receipt, each writer's in order.
using TopicQos = core::EntityQos<TopicData, Durability, DurabilityService, Deadline, LatencyBudget, Liveliness, Reliability,
                                 DestinationOrder, History, ResourceLimits, TransportPriority, Lifespan, Ownership>;
}  // namespace dds::topic::qos
namespace dds::pub::qos {
using namespace core::policy;
using PublisherQos = core::EntityQos<Presentation, Partition, GroupData, EntityFactory>;
using DataWriterQos = core::EntityQos<UserData, Durability, DurabilityService, Deadline, LatencyBudget, Liveliness,
                                      Reliability, DestinationOrder, History, ResourceLimits, TransportPriority, Lifespan,
                                      Ownership, OwnershipStrength, WriterDataLifecycle>;
}  // namespace dds::pub::qos
namespace dds::sub::qos {
using namespace core::policy;
using SubscriberQos = core::EntityQos<Presentation, Partition, GroupData, EntityFactory>;
using DataReaderQos =
    core::EntityQos<UserData, Durability, Deadline, LatencyBudget, Liveliness, Reliability, DestinationOrder, History,
                    ResourceLimits, Ownership, TimeBasedFilter, ReaderDataLifecycle>;
}  // namespace dds::sub::qos
