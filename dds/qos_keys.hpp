// The keys of files of qualities: which policy each sets, and to what.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <spindrift/dds/policy_names.hpp>
#include <spindrift/dds/qos.hpp>

namespace spindrift::topics {

/// All policies that there are.
using AllQos =
    dds::core::EntityQos<policies::UserData, policies::TopicData, policies::GroupData, policies::Durability,
                         policies::DurabilityService, policies::Presentation, policies::Deadline, policies::LatencyBudget,
                         policies::Ownership, policies::OwnershipStrength, policies::Liveliness, policies::TimeBasedFilter,
                         policies::Partition, policies::Reliability, policies::DestinationOrder, policies::History,
                         policies::ResourceLimits, policies::EntityFactory, policies::WriterDataLifecycle,
                         policies::ReaderDataLifecycle, policies::TransportPriority, policies::Lifespan>;

struct QosKey {
  std::string_view name;
  std::string_view policy;  ///< its name
  std::string_view values;  ///< in words
  /// False: the value is none.
  bool (*set)(AllQos& qos, std::string_view value);
};

/// All of them, in the order of the policies.
[[nodiscard]] std::span<const QosKey> qos_keys();
/// Null: there is no such key.
[[nodiscard]] const QosKey* find_qos_key(std::string_view name);
/// The key that is meant by a mistyped one; empty: none is near.
[[nodiscard]] std::string_view nearest_qos_key(std::string_view name);

}  // namespace spindrift::topics
