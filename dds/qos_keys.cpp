// Values of files of qualities as policies.
#include <spindrift/dds/qos_keys.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/config/nearest.hpp>
#include <spindrift/dds/qos_words.hpp>

namespace spindrift::topics {
namespace {

using namespace dds::core::policy;
using namespace qos_words;
using dds::core::Duration;
using Text = std::string_view;

std::optional<std::int64_t> number(Text text) {
  std::int64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}
std::optional<std::int32_t> small_number(Text text) {
  const auto value = number(text);
  if (!value || *value < INT32_MIN || *value > INT32_MAX) return std::nullopt;
  return static_cast<std::int32_t>(*value);
}
std::optional<std::int32_t> limit(Text text) {
  return text == "unlimited" ? std::optional(LENGTH_UNLIMITED) : small_number(text);
}
std::optional<bool> truth(Text text) {
  if (text == "true" || text == "false") return text == "true";
  return std::nullopt;
}
std::optional<Duration> length(Text text) {
  if (text == "infinite") return Duration::infinite();
  struct TimeUnit {
    Text name;
    std::int64_t nanoseconds;
  };
  // The longer names first: "s" is the end of them all.
  static constexpr std::array units{TimeUnit{"ns", 1}, TimeUnit{"us", 1'000}, TimeUnit{"ms", 1'000'000},
                                    TimeUnit{"s", 1'000'000'000}};
  for (const TimeUnit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto count = number(text.substr(0, text.size() - unit.name.size()));
    if (!count || *count < 0 || *count > std::numeric_limits<std::int64_t>::max() / unit.nanoseconds) return std::nullopt;
    return Duration(std::chrono::nanoseconds(*count * unit.nanoseconds));
  }
  return std::nullopt;
}
std::optional<std::vector<std::uint8_t>> bytes(Text text) {
  if (!text.starts_with("0x")) return std::vector<std::uint8_t>(text.begin(), text.end());
  std::vector<std::uint8_t> value;
  for (text.remove_prefix(2); !text.empty(); text.remove_prefix(2)) {
    unsigned each = 0;
    if (text.size() < 2) return std::nullopt;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + 2, each, 16);
    if (fault != std::errc() || end != text.data() + 2) return std::nullopt;
    value.push_back(static_cast<std::uint8_t>(each));
  }
  return value;
}
std::optional<dds::core::StringSeq> names(Text text) {
  dds::core::StringSeq all;
  for (;;) {
    const auto comma = text.find(',');
    Text name = text.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    all.emplace_back(name);
    if (comma == Text::npos) return all;
    text = text.substr(comma + 1);
  }
}
/// The kind of that name, of names in the order of the kinds.
template <class Kind, std::size_t count>
std::optional<Kind> kind(Text text, const std::array<Text, count>& all) {
  const auto found = std::find(all.begin(), all.end(), text);
  if (found == all.end()) return std::nullopt;
  return static_cast<Kind>(found - all.begin());
}

/// Puts in what `change` makes of the value, if there is one.
template <class Value, class Change>
bool put(AllQos& qos, const std::optional<Value>& value, const Change& change) {
  if (!value) return false;
  qos << change(*value);
  return true;
}

ResourceLimits limits_of(const DurabilityService& service) {
  return ResourceLimits(service.max_samples(), service.max_instances(), service.max_samples_per_instance());
}
DurabilityService service(const Duration& delay, const History& history, const ResourceLimits& limits) {
  return DurabilityService(delay, history.kind(), history.depth(), limits.max_samples(), limits.max_instances(),
                           limits.max_samples_per_instance());
}
template <class Value, class Change>
bool put_service(AllQos& qos, const std::optional<Value>& value, const Change& change) {
  return put(qos, value, [&](const Value& of) {
    const auto& before = qos.policy<DurabilityService>();
    Duration delay = before.service_cleanup_delay();
    History history(before.history_kind(), before.history_depth());
    ResourceLimits limits = limits_of(before);
    change(of, delay, history, limits);
    return service(delay, history, limits);
  });
}

constexpr Text lengths = "a length of time, such as 10ms (s, ms, us, ns), or infinite";
constexpr Text counts = "a number, or unlimited";
constexpr Text truths = "true or false";
constexpr Text opaque = "text, or bytes such as 0x01ff";

// One rule per key.
constexpr QosKey all_keys[] = {
    {"user_data", "UserData", opaque,
     [](AllQos& qos, Text text) { return put(qos, bytes(text), [](auto& of) { return UserData(of); }); }},
    {"topic_data", "TopicData", opaque,
     [](AllQos& qos, Text text) { return put(qos, bytes(text), [](auto& of) { return TopicData(of); }); }},
    {"group_data", "GroupData", opaque,
     [](AllQos& qos, Text text) { return put(qos, bytes(text), [](auto& of) { return GroupData(of); }); }},
    {"durability", "Durability", "volatile, transient_local, transient or persistent",
     [](AllQos& qos, Text text) {
       return put(qos, kind<DurabilityKind>(text, durabilities), [](auto of) { return Durability(of); });
     }},
    {"durability_service_cleanup_delay", "DurabilityService", lengths,
     [](AllQos& qos, Text text) {
       return put_service(qos, length(text), [](auto& of, auto& delay, auto&, auto&) { delay = of; });
     }},
    {"durability_service_history", "DurabilityService", "keep_last or keep_all",
     [](AllQos& qos, Text text) {
       return put_service(qos, kind<HistoryKind>(text, histories),
                          [](auto of, auto&, auto& history, auto&) { history.kind(of); });
     }},
    {"durability_service_history_depth", "DurabilityService", "a number",
     [](AllQos& qos, Text text) {
       return put_service(qos, small_number(text), [](auto of, auto&, auto& history, auto&) { history.depth(of); });
     }},
    {"durability_service_max_samples", "DurabilityService", counts,
     [](AllQos& qos, Text text) {
       return put_service(qos, limit(text), [](auto of, auto&, auto&, auto& limits) { limits.max_samples(of); });
     }},
    {"durability_service_max_instances", "DurabilityService", counts,
     [](AllQos& qos, Text text) {
       return put_service(qos, limit(text), [](auto of, auto&, auto&, auto& limits) { limits.max_instances(of); });
     }},
    {"durability_service_max_samples_per_instance", "DurabilityService", counts,
     [](AllQos& qos, Text text) {
       return put_service(qos, limit(text),
                          [](auto of, auto&, auto&, auto& limits) { limits.max_samples_per_instance(of); });
     }},
    {"presentation_access_scope", "Presentation", "instance, topic or group",
     [](AllQos& qos, Text text) {
       return put(qos, kind<PresentationAccessScopeKind>(text, scopes), [&](auto of) {
         const auto& before = qos.policy<Presentation>();
         return Presentation(of, before.coherent_access(), before.ordered_access());
       });
     }},
    {"presentation_coherent_access", "Presentation", truths,
     [](AllQos& qos, Text text) {
       return put(qos, truth(text), [&](auto of) {
         const auto& before = qos.policy<Presentation>();
         return Presentation(before.access_scope(), of, before.ordered_access());
       });
     }},
    {"presentation_ordered_access", "Presentation", truths,
     [](AllQos& qos, Text text) {
       return put(qos, truth(text), [&](auto of) {
         const auto& before = qos.policy<Presentation>();
         return Presentation(before.access_scope(), before.coherent_access(), of);
       });
     }},
    {"deadline_period", "Deadline", lengths,
     [](AllQos& qos, Text text) { return put(qos, length(text), [](auto& of) { return Deadline(of); }); }},
    {"latency_budget_duration", "LatencyBudget", lengths,
     [](AllQos& qos, Text text) { return put(qos, length(text), [](auto& of) { return LatencyBudget(of); }); }},
    {"ownership", "Ownership", "shared or exclusive",
     [](AllQos& qos, Text text) {
       return put(qos, kind<OwnershipKind>(text, ownerships), [](auto of) { return Ownership(of); });
     }},
    {"ownership_strength", "OwnershipStrength", "a number",
     [](AllQos& qos, Text text) { return put(qos, small_number(text), [](auto of) { return OwnershipStrength(of); }); }},
    {"liveliness", "Liveliness", "automatic, manual_by_participant or manual_by_topic",
     [](AllQos& qos, Text text) {
       return put(qos, kind<LivelinessKind>(text, livelinesses),
                  [&](auto of) { return Liveliness(of, qos.policy<Liveliness>().lease_duration()); });
     }},
    {"liveliness_lease_duration", "Liveliness", lengths,
     [](AllQos& qos, Text text) {
       return put(qos, length(text), [&](auto& of) { return Liveliness(qos.policy<Liveliness>().kind(), of); });
     }},
    {"time_based_filter_minimum_separation", "TimeBasedFilter", lengths,
     [](AllQos& qos, Text text) { return put(qos, length(text), [](auto& of) { return TimeBasedFilter(of); }); }},
    {"partition", "Partition", "names, separated by commas",
     [](AllQos& qos, Text text) { return put(qos, names(text), [](auto& of) { return Partition(of); }); }},
    {"reliability", "Reliability", "best_effort or reliable",
     [](AllQos& qos, Text text) {
       return put(qos, kind<ReliabilityKind>(text, reliabilities),
                  [&](auto of) { return Reliability(of, qos.policy<Reliability>().max_blocking_time()); });
     }},
    {"reliability_max_blocking_time", "Reliability", lengths,
     [](AllQos& qos, Text text) {
       return put(qos, length(text), [&](auto& of) { return Reliability(qos.policy<Reliability>().kind(), of); });
     }},
    {"destination_order", "DestinationOrder", "by_reception_timestamp or by_source_timestamp",
     [](AllQos& qos, Text text) {
       return put(qos, kind<DestinationOrderKind>(text, orders), [](auto of) { return DestinationOrder(of); });
     }},
    {"history", "History", "keep_last or keep_all",
     [](AllQos& qos, Text text) {
       return put(qos, kind<HistoryKind>(text, histories),
                  [&](auto of) { return History(of, qos.policy<History>().depth()); });
     }},
    {"history_depth", "History", "a number",
     [](AllQos& qos, Text text) {
       return put(qos, small_number(text), [&](auto of) { return History(qos.policy<History>().kind(), of); });
     }},
    {"resource_limits_max_samples", "ResourceLimits", counts,
     [](AllQos& qos, Text text) {
       return put(qos, limit(text), [&](auto of) { return ResourceLimits(qos.policy<ResourceLimits>()).max_samples(of); });
     }},
    {"resource_limits_max_instances", "ResourceLimits", counts,
     [](AllQos& qos, Text text) {
       return put(qos, limit(text), [&](auto of) { return ResourceLimits(qos.policy<ResourceLimits>()).max_instances(of); });
     }},
    {"resource_limits_max_samples_per_instance", "ResourceLimits", counts,
     [](AllQos& qos, Text text) {
       return put(qos, limit(text),
                  [&](auto of) { return ResourceLimits(qos.policy<ResourceLimits>()).max_samples_per_instance(of); });
     }},
    {"entity_factory_autoenable_created_entities", "EntityFactory", truths,
     [](AllQos& qos, Text text) { return put(qos, truth(text), [](auto of) { return EntityFactory(of); }); }},
    {"autodispose_unregistered_instances", "WriterDataLifecycle", truths,
     [](AllQos& qos, Text text) { return put(qos, truth(text), [](auto of) { return WriterDataLifecycle(of); }); }},
    {"autopurge_nowriter_samples_delay", "ReaderDataLifecycle", lengths,
     [](AllQos& qos, Text text) {
       return put(qos, length(text), [&](auto& of) {
         return ReaderDataLifecycle(of, qos.policy<ReaderDataLifecycle>().autopurge_disposed_samples_delay());
       });
     }},
    {"autopurge_disposed_samples_delay", "ReaderDataLifecycle", lengths,
     [](AllQos& qos, Text text) {
       return put(qos, length(text), [&](auto& of) {
         return ReaderDataLifecycle(qos.policy<ReaderDataLifecycle>().autopurge_nowriter_samples_delay(), of);
       });
     }},
    {"transport_priority", "TransportPriority", "a number",
     [](AllQos& qos, Text text) { return put(qos, small_number(text), [](auto of) { return TransportPriority(of); }); }},
    {"lifespan_duration", "Lifespan", lengths,
     [](AllQos& qos, Text text) { return put(qos, length(text), [](auto& of) { return Lifespan(of); }); }},
};

}  // namespace

std::span<const QosKey> qos_keys() { return all_keys; }

const QosKey* find_qos_key(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(all_keys), std::end(all_keys), [&](const QosKey& each) { return each.name == name; });
  return found == std::end(all_keys) ? nullptr : found;
}

std::string_view nearest_qos_key(std::string_view name) {
  std::vector<std::string_view> names;
  for (const QosKey& each : all_keys) names.push_back(each.name);
  return config::nearest(name, names);
}

}  // namespace spindrift::topics
