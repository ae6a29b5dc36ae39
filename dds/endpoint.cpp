// Endpoints as bytes, and the rules by which they match.
#include <spindrift/dds/endpoint.hpp>

#include <fnmatch.h>

#include <algorithm>
#include <span>

#include <spindrift/dds/assignable.hpp>
#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {

void put_text(ByteWriter& to, const std::string& text) {
  to.put(static_cast<std::uint32_t>(text.size())).put_text(text, text.size());
}

std::optional<std::string> get_text(ByteReader& from, std::size_t most) {
  const auto size = from.get<std::uint32_t>();
  if (size > most) return std::nullopt;
  const auto bytes = from.get_bytes(size);
  if (bytes.size() != size) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

namespace {

constexpr std::uint8_t kind_max[] = {1, 3, 1, 1, 1, 1, 2};

void put_data(ByteWriter& to, const std::vector<std::uint8_t>& data) {
  to.put(static_cast<std::uint32_t>(data.size())).put_bytes(std::as_bytes(std::span(data)));
}

bool get_data(ByteReader& from, std::vector<std::uint8_t>& data) {
  const auto size = from.get<std::uint32_t>();
  if (size > opaque_bytes_max) return false;
  for (const std::byte each : from.get_bytes(size)) data.push_back(static_cast<std::uint8_t>(each));
  return data.size() == size;
}

bool get_times(ByteReader& from, EndpointTimes& times) {
  std::int64_t least = 0;
  for (std::int64_t* each :
       {&times.deadline, &times.latency, &times.lifespan, &times.lease, &times.separation, &times.blocking}) {
    *each = from.get<std::int64_t>();
    least = std::min(least, *each);
  }
  return least >= 0;
}

bool get_kept(ByteReader& from, EndpointKept& kept) {
  kept.history = from.get<std::uint8_t>();
  for (std::int32_t* each :
       {&kept.depth, &kept.samples_max, &kept.instances_max, &kept.instance_samples_max, &kept.service_depth}) {
    *each = from.get<std::int32_t>();
  }
  return kept.history <= 1;
}

std::string words(const char* policy, const char* offered, const char* requested) {
  return std::string(policy) + ": " + offered + " is offered, " + requested + " is requested";
}

void compare(std::vector<QosMismatch>& to, std::uint32_t id, const char* policy, std::span<const char* const> names,
             std::uint8_t offered, std::uint8_t requested) {
  if (offered < requested) to.push_back({id, words(policy, names[offered], names[requested])});
}

/// The longest that is offered is no longer than what is requested.
void compare_times(std::vector<QosMismatch>& to, std::uint32_t id, const char* policy, std::int64_t offered,
                   std::int64_t requested) {
  if (offered <= requested) return;
  const auto text = [](std::int64_t length) {
    return length == endless ? std::string("none") : std::to_string(length / 1'000'000) + " ms";
  };
  to.push_back({id, words(policy, text(offered).c_str(), text(requested).c_str())});
}

bool fits(const std::string& some, const std::string& other) {
  return some == other || fnmatch(some.c_str(), other.c_str(), 0) == 0 || fnmatch(other.c_str(), some.c_str(), 0) == 0;
}

std::string node_of(const EndpointId& id) { return "node " + std::to_string(id.node); }

const char* quality(const EndpointQos& qos) {
  return qos.reliability == 0 ? "BEST_EFFORT, sent unordered" : "RELIABLE, sent in one order";
}

}  // namespace

void put(ByteWriter& to, const EndpointFacts& facts) {
  to.put(facts.id.node, facts.id.number, facts.id.incarnation, static_cast<std::uint8_t>(facts.kind));
  put_text(to, facts.topic);
  put_text(to, facts.type);
  put_text(to, facts.named);
  const EndpointQos& qos = facts.qos;
  to.put(qos.reliability, qos.durability, qos.ownership, qos.destination_order, qos.access_scope, qos.ordered_access,
         qos.liveliness, qos.strength);
  const EndpointTimes& times = qos.times;
  to.put(times.deadline, times.latency, times.lifespan, times.lease, times.separation, times.blocking);
  const EndpointKept& kept = qos.kept;
  to.put(kept.history, kept.depth, kept.samples_max, kept.instances_max, kept.instance_samples_max, kept.service_depth);
  for (const auto* each : {&qos.data.own, &qos.data.topic, &qos.data.group}) put_data(to, *each);
  to.put(static_cast<std::uint32_t>(qos.partitions.size()));
  for (const std::string& each : qos.partitions) put_text(to, each);
}

namespace {

bool get_partitions(ByteReader& from, std::vector<std::string>& partitions) {
  const auto count = from.get<std::uint32_t>();
  if (count > partition_count_max) return false;
  for (std::uint32_t each = 0; each < count; ++each) {
    auto name = get_text(from, topic_name_bytes_max);
    if (!name) return false;
    partitions.push_back(std::move(*name));
  }
  return true;
}

bool get_qos(ByteReader& from, EndpointQos& qos) {
  std::size_t at = 0;
  for (std::uint8_t* each : {&qos.reliability, &qos.durability, &qos.ownership, &qos.destination_order, &qos.access_scope,
                             &qos.ordered_access, &qos.liveliness}) {
    *each = from.get<std::uint8_t>();
    if (*each > kind_max[at++]) return false;
  }
  qos.strength = from.get<std::int32_t>();
  if (!get_times(from, qos.times) || !get_kept(from, qos.kept)) return false;
  for (auto* each : {&qos.data.own, &qos.data.topic, &qos.data.group}) {
    if (!get_data(from, *each)) return false;
  }
  return get_partitions(from, qos.partitions);
}

}  // namespace

std::optional<EndpointFacts> get_endpoint(ByteReader& from) {
  EndpointFacts facts;
  facts.id.node = from.get<std::uint32_t>();
  facts.id.number = from.get<std::uint32_t>();
  facts.id.incarnation = from.get<std::uint64_t>();
  const auto kind = from.get<std::uint8_t>();
  auto topic = get_text(from, topic_name_bytes_max);
  auto type = topic ? get_text(from, description_bytes_max) : std::nullopt;
  auto named = type ? get_text(from, description_bytes_max) : std::nullopt;
  if (kind > static_cast<std::uint8_t>(EndpointKind::participant) || !named || topic->empty()) return std::nullopt;
  facts.kind = static_cast<EndpointKind>(kind);
  facts.topic = std::move(*topic);
  facts.type = std::move(*type);
  facts.named = std::move(*named);
  if (!get_qos(from, facts.qos) || !from.ok()) return std::nullopt;
  return facts;
}

std::vector<QosMismatch> mismatches(const EndpointQos& offered, const EndpointQos& requested) {
  static constexpr const char* order[] = {"BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP"};
  static constexpr const char* scope[] = {"INSTANCE", "TOPIC"};
  static constexpr const char* access[] = {"no ordered access", "ordered access"};
  static constexpr const char* liveliness[] = {"AUTOMATIC", "MANUAL_BY_PARTICIPANT", "MANUAL_BY_TOPIC"};
  std::vector<QosMismatch> found;
  compare(found, 11, "Reliability", reliability_names, offered.reliability, requested.reliability);
  compare(found, 2, "Durability", durability_names, offered.durability, requested.durability);
  compare(found, 12, "DestinationOrder", order, offered.destination_order, requested.destination_order);
  compare(found, 3, "Presentation", scope, offered.access_scope, requested.access_scope);
  compare(found, 8, "Liveliness", liveliness, offered.liveliness, requested.liveliness);
  compare(found, 3, "Presentation", access, offered.ordered_access, requested.ordered_access);
  if (offered.ownership != requested.ownership)
    found.push_back({6, words("Ownership", ownership_names[offered.ownership], ownership_names[requested.ownership])});
  compare_times(found, 4, "Deadline", offered.times.deadline, requested.times.deadline);
  compare_times(found, 8, "Liveliness, lease_duration", offered.times.lease, requested.times.lease);
  compare_times(found, 5, "LatencyBudget", offered.times.latency, requested.times.latency);
  return found;
}

bool partitions_meet(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  static const std::vector<std::string> none{""};
  const auto& left = some.empty() ? none : some;
  const auto& right = others.empty() ? none : others;
  return std::any_of(left.begin(), left.end(), [&](const std::string& each) {
    return std::any_of(right.begin(), right.end(), [&](const std::string& other) { return fits(each, other); });
  });
}

std::optional<std::string> type_refusal(const EndpointFacts& here, const EndpointFacts& there) {
  if (assignable(there.type, here.type)) return std::nullopt;
  const std::string first = first_difference(here.type, there.type);
  return "its type is another one at " + node_of(there.id) + ": " + (first.empty() ? "" : first + ": ") +
         words_of_difference(here.type, there.type);
}

std::optional<std::string> EndpointTable::add(EndpointFacts facts) {
  for (const auto& [id, other] : all_) {
    if (other.topic != facts.topic || other.kind != EndpointKind::topic || facts.kind != EndpointKind::topic) continue;
    if (auto refusal = type_refusal(facts, other)) return refusal;
    if (other.qos.reliability != facts.qos.reliability) {
      return "its Reliability is another one at " + node_of(id) + ": here it is " + quality(facts.qos) + ", there " +
             quality(other.qos);
    }
  }
  const EndpointId id = facts.id;
  const auto known = all_.find(id);
  if (known != all_.end() && known->second == facts) return std::nullopt;
  all_.insert_or_assign(id, std::move(facts));
  ++changes_;
  return std::nullopt;
}

std::optional<EndpointFacts> EndpointTable::remove(const EndpointId& id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return std::nullopt;
  EndpointFacts facts = std::move(found->second);
  all_.erase(found);
  ++changes_;
  return facts;
}

std::vector<EndpointFacts> EndpointTable::retain(const View& view) {
  std::vector<EndpointFacts> gone;
  std::erase_if(all_, [&](auto& each) {
    const auto rank = view.rank_of(NodeId(each.first.node));
    if (rank && view.incarnations.at(rank->value()) == each.first.incarnation) return false;
    gone.push_back(std::move(each.second));
    ++changes_;
    return true;
  });
  return gone;
}

}  // namespace spindrift::topics
