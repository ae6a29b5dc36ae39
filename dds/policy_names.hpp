// The names of policies, and which of them may change when their entity is made.
#pragma once

#include <string>
#include <type_traits>

#include <spindrift/dds/policy.hpp>

namespace dds::core::policy {

/// The name that OMG gave a policy: `policy_name<History>::name()` is "History".
template <class Policy>
struct policy_name;

}  // namespace dds::core::policy

namespace spindrift::topics {

template <class Policy, class... Some>
inline constexpr bool is_one_of = (std::is_same_v<Policy, Some> || ...);

namespace policies = dds::core::policy;

/// Whether an entity may be given another one (DDS 1.4, 2.2.3).
template <class Policy>
inline constexpr bool may_change =
    is_one_of<Policy, policies::UserData, policies::TopicData, policies::GroupData, policies::Deadline,
              policies::LatencyBudget, policies::OwnershipStrength, policies::Partition, policies::TimeBasedFilter,
              policies::TransportPriority, policies::Lifespan, policies::EntityFactory, policies::WriterDataLifecycle,
              policies::ReaderDataLifecycle>;

/// Throws ImmutablePolicyError where one differs that may not change.
template <class Qos>
void check_changes(const Qos& before, const Qos& after) {
  before.for_each([&]<class Policy>(const Policy& policy) {
    if constexpr (!may_change<Policy>) {
      if (!(policy == after.template policy<Policy>()))
        throw dds::core::ImmutablePolicyError("policy " + policies::policy_name<Policy>::name() +
                                              " stays as the entity was made; make another entity with it");
    }
  });
}

}  // namespace spindrift::topics

namespace dds::core::policy {

template <>
struct policy_name<UserData> {
  static std::string name() { return "UserData"; }
};
template <>
struct policy_name<TopicData> {
  static std::string name() { return "TopicData"; }
};
template <>
struct policy_name<GroupData> {
  static std::string name() { return "GroupData"; }
};
template <>
struct policy_name<Durability> {
  static std::string name() { return "Durability"; }
};
template <>
struct policy_name<DurabilityService> {
  static std::string name() { return "DurabilityService"; }
};
template <>
struct policy_name<Presentation> {
  static std::string name() { return "Presentation"; }
};
template <>
struct policy_name<Deadline> {
  static std::string name() { return "Deadline"; }
};
template <>
struct policy_name<LatencyBudget> {
  static std::string name() { return "LatencyBudget"; }
};
template <>
struct policy_name<Ownership> {
  static std::string name() { return "Ownership"; }
};
template <>
struct policy_name<OwnershipStrength> {
  static std::string name() { return "OwnershipStrength"; }
};
template <>
struct policy_name<Liveliness> {
  static std::string name() { return "Liveliness"; }
};
template <>
struct policy_name<TimeBasedFilter> {
  static std::string name() { return "TimeBasedFilter"; }
};
template <>
struct policy_name<Partition> {
  static std::string name() { return "Partition"; }
};
template <>
struct policy_name<Reliability> {
  static std::string name() { return "Reliability"; }
};
template <>
struct policy_name<DestinationOrder> {
  static std::string name() { return "DestinationOrder"; }
};
template <>
struct policy_name<History> {
  static std::string name() { return "History"; }
};
template <>
struct policy_name<ResourceLimits> {
  static std::string name() { return "ResourceLimits"; }
};
template <>
struct policy_name<EntityFactory> {
  static std::string name() { return "EntityFactory"; }
};
template <>
struct policy_name<WriterDataLifecycle> {
  static std::string name() { return "WriterDataLifecycle"; }
};
template <>
struct policy_name<ReaderDataLifecycle> {
  static std::string name() { return "ReaderDataLifecycle"; }
};
template <>
struct policy_name<TransportPriority> {
  static std::string name() { return "TransportPriority"; }
};
template <>
struct policy_name<Lifespan> {
  static std::string name() { return "Lifespan"; }
};

}  // namespace dds::core::policy
