// Endpoints as bytes, and the rules by which they match.
#include <spindrift/dds/endpoint.hpp>

#include <fnmatch.h>

#include <algorithm>

#include <spindrift/dds/type_support.hpp>

namespace spindrift::topics {
namespace {

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

constexpr std::uint8_t kind_max[] = {1, 3, 1, 1, 1, 1};

std::string words(const char* policy, const char* offered, const char* requested) {
  return std::string(policy) + ": " + offered + " is offered, " + requested + " is requested";
}

template <std::size_t count>
void compare(std::vector<QosMismatch>& to, std::uint32_t id, const char* policy, const char* const (&names)[count],
             std::uint8_t offered, std::uint8_t requested) {
  if (offered < requested) to.push_back({id, words(policy, names[offered], names[requested])});
}

bool fits(const std::string& some, const std::string& other) {
  return some == other || fnmatch(some.c_str(), other.c_str(), 0) == 0 || fnmatch(other.c_str(), some.c_str(), 0) == 0;
}

const char* quality(const EndpointQos& qos) {
  return qos.reliability == 0 ? "BEST_EFFORT, sent unordered" : "RELIABLE, sent in one order";
}

}  // namespace

void put(ByteWriter& to, const EndpointFacts& facts) {
  to.put(facts.id.node, facts.id.number, facts.id.incarnation, static_cast<std::uint8_t>(facts.kind));
  put_text(to, facts.topic);
  put_text(to, facts.type);
  const EndpointQos& qos = facts.qos;
  to.put(qos.reliability, qos.durability, qos.ownership, qos.destination_order, qos.access_scope, qos.ordered_access,
         qos.strength, qos.deadline_ns, static_cast<std::uint32_t>(qos.partitions.size()));
  for (const std::string& each : qos.partitions) put_text(to, each);
}

std::optional<EndpointFacts> get_endpoint(ByteReader& from) {
  EndpointFacts facts;
  facts.id.node = from.get<std::uint32_t>();
  facts.id.number = from.get<std::uint32_t>();
  facts.id.incarnation = from.get<std::uint64_t>();
  const auto kind = from.get<std::uint8_t>();
  auto topic = get_text(from, topic_name_bytes_max);
  auto type = topic ? get_text(from, description_bytes_max) : std::nullopt;
  if (kind > static_cast<std::uint8_t>(EndpointKind::participant) || !type || topic->empty()) return std::nullopt;
  facts.kind = static_cast<EndpointKind>(kind);
  facts.topic = std::move(*topic);
  facts.type = std::move(*type);
  EndpointQos& qos = facts.qos;
  std::size_t at = 0;
  for (std::uint8_t* each :
       {&qos.reliability, &qos.durability, &qos.ownership, &qos.destination_order, &qos.access_scope, &qos.ordered_access}) {
    *each = from.get<std::uint8_t>();
    if (*each > kind_max[at++]) return std::nullopt;
  }
  qos.strength = from.get<std::int32_t>();
  qos.deadline_ns = from.get<std::int64_t>();
  const auto partitions = from.get<std::uint32_t>();
  if (partitions > partition_count_max || qos.deadline_ns < 0) return std::nullopt;
  for (std::uint32_t each = 0; each < partitions; ++each) {
    auto name = get_text(from, topic_name_bytes_max);
    if (!name) return std::nullopt;
    qos.partitions.push_back(std::move(*name));
  }
  if (!from.ok()) return std::nullopt;
  return facts;
}

std::vector<QosMismatch> mismatches(const EndpointQos& offered, const EndpointQos& requested) {
  static constexpr const char* reliability[] = {"BEST_EFFORT", "RELIABLE"};
  static constexpr const char* durability[] = {"VOLATILE", "TRANSIENT_LOCAL", "TRANSIENT", "PERSISTENT"};
  static constexpr const char* order[] = {"BY_RECEPTION_TIMESTAMP", "BY_SOURCE_TIMESTAMP"};
  static constexpr const char* scope[] = {"INSTANCE", "TOPIC"};
  static constexpr const char* access[] = {"no ordered access", "ordered access"};
  static constexpr const char* ownership[] = {"SHARED", "EXCLUSIVE"};
  std::vector<QosMismatch> found;
  compare(found, 11, "Reliability", reliability, offered.reliability, requested.reliability);
  compare(found, 2, "Durability", durability, offered.durability, requested.durability);
  compare(found, 12, "DestinationOrder", order, offered.destination_order, requested.destination_order);
  compare(found, 3, "Presentation", scope, offered.access_scope, requested.access_scope);
  compare(found, 3, "Presentation", access, offered.ordered_access, requested.ordered_access);
  if (offered.ownership != requested.ownership)
    found.push_back({6, words("Ownership", ownership[offered.ownership], ownership[requested.ownership])});
  if (offered.deadline_ns > requested.deadline_ns) {
    const std::string period =
        offered.deadline_ns == endless ? "none" : std::to_string(offered.deadline_ns / 1'000'000) + " ms";
    found.push_back(
        {4, words("Deadline", period.c_str(), (std::to_string(requested.deadline_ns / 1'000'000) + " ms").c_str())});
  }
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

std::optional<std::string> EndpointTable::add(EndpointFacts facts) {
  for (const auto& [id, other] : all_) {
    if (other.topic != facts.topic || other.kind != EndpointKind::topic || facts.kind != EndpointKind::topic) continue;
    const std::string owner = "node " + std::to_string(id.node);
    if (other.type != facts.type)
      return "its type is another one at " + owner + ": " + words_of_difference(facts.type, other.type);
    if (other.qos.reliability != facts.qos.reliability) {
      return "its Reliability is another one at " + owner + ": here it is " + quality(facts.qos) + ", there " +
             quality(other.qos);
    }
  }
  const EndpointId id = facts.id;
  all_.insert_or_assign(id, std::move(facts));
  return std::nullopt;
}

std::optional<EndpointFacts> EndpointTable::remove(const EndpointId& id) {
  const auto found = all_.find(id);
  if (found == all_.end()) return std::nullopt;
  EndpointFacts facts = std::move(found->second);
  all_.erase(found);
  return facts;
}

std::vector<EndpointFacts> EndpointTable::retain(const View& view) {
  std::vector<EndpointFacts> gone;
  std::erase_if(all_, [&](auto& each) {
    const auto rank = view.rank_of(NodeId(each.first.node));
    if (rank && view.incarnations.at(rank->value()) == each.first.incarnation) return false;
    gone.push_back(std::move(each.second));
    return true;
  });
  return gone;
}

}  // namespace spindrift::topics
