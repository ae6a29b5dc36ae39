// Topics, writers and readers of a domain as participants tell each other of them, and whether a writer and a reader match.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::topics {

/// A topic, writer or reader: the process that made it, and the how-manieth of that it is, from 1 on.
struct EndpointId {
  std::uint32_t node = 0;
  std::uint32_t number = 0;
  std::uint64_t incarnation = 0;
  auto operator<=>(const EndpointId&) const noexcept = default;
  /// As instance handles have it.
  [[nodiscard]] Digest name() const noexcept { return {{incarnation, (std::uint64_t{node} << 32) | number}}; }
  [[nodiscard]] static EndpointId named(const Digest& name) noexcept {
    return {static_cast<std::uint32_t>(name.words[1] >> 32), static_cast<std::uint32_t>(name.words[1]), name.words[0]};
  }
  /// Its participant, whose number is 0.
  [[nodiscard]] EndpointId process() const noexcept { return {node, 0, incarnation}; }
};

/// A participant is one that has all histories, and so can give them to others.
enum class EndpointKind : std::uint8_t { topic, writer, reader, participant };

/// No end, in nanoseconds.
inline constexpr std::int64_t endless = INT64_MAX;

/// The lengths of time among the policies, in nanoseconds.
struct EndpointTimes {
  std::int64_t deadline = endless;
  std::int64_t latency = 0;
  std::int64_t lifespan = endless;
  std::int64_t lease = endless;
  std::int64_t separation = 0;
  std::int64_t blocking = 100'000'000;
  bool operator==(const EndpointTimes&) const = default;
};
/// History, ResourceLimits and DurabilityService, for those who ask what others have.
struct EndpointKept {
  std::uint8_t history = 0;
  std::int32_t depth = 1;
  std::int32_t samples_max = -1;
  std::int32_t instances_max = -1;
  std::int32_t instance_samples_max = -1;
  std::int32_t service_depth = 1;
  bool operator==(const EndpointKept&) const = default;
};
/// An application's own bytes: of the endpoint, of its topic, and of its publisher or subscriber.
struct EndpointData {
  std::vector<std::uint8_t> own{};
  std::vector<std::uint8_t> topic{};
  std::vector<std::uint8_t> group{};
  bool operator==(const EndpointData&) const = default;
};

// OMG's names of the policies' kinds, by their numbers.
inline constexpr std::array<const char*, 2> reliability_names{"BEST_EFFORT", "RELIABLE"};
inline constexpr std::array<const char*, 4> durability_names{"VOLATILE", "TRANSIENT_LOCAL", "TRANSIENT", "PERSISTENT"};
inline constexpr std::array<const char*, 2> ownership_names{"SHARED", "EXCLUSIVE"};

/// The qualities that are offered or requested, by the numbers of the policies' kinds, which are in the order of their
/// strength.
struct EndpointQos {
  std::uint8_t reliability = 0;
  std::uint8_t durability = 0;
  std::uint8_t ownership = 0;
  std::uint8_t destination_order = 0;
  std::uint8_t access_scope = 0;
  std::uint8_t ordered_access = 0;
  std::uint8_t liveliness = 0;
  std::int32_t strength = 0;
  EndpointTimes times{};
  EndpointKept kept{};
  EndpointData data{};
  std::vector<std::string> partitions{};
  bool operator==(const EndpointQos&) const = default;
};

struct EndpointFacts {
  EndpointId id{};
  EndpointKind kind = EndpointKind::topic;
  std::string topic;
  std::string type{};   ///< its description
  std::string named{};  ///< of a topic: the same with the names of fields; empty: it has none
  EndpointQos qos{};
  bool operator==(const EndpointFacts&) const = default;
};

/// Most bytes of a topic's name, and of a partition's; most partitions of an endpoint; most of an application's own bytes.
inline constexpr std::size_t topic_name_bytes_max = 256;
inline constexpr std::size_t partition_count_max = 64;
inline constexpr std::size_t opaque_bytes_max = 1024;

/// A text with its size before it; nothing: it is not there, or has more bytes.
void put_text(ByteWriter& to, const std::string& text);
[[nodiscard]] std::optional<std::string> get_text(ByteReader& from, std::size_t most);

void put(ByteWriter& to, const EndpointFacts& facts);
/// Nothing: some field is impossible, or not there.
[[nodiscard]] std::optional<EndpointFacts> get_endpoint(ByteReader& from);

/// A policy of which less is offered than is requested.
struct QosMismatch {
  std::uint32_t policy_id;
  std::string words;
};
[[nodiscard]] std::vector<QosMismatch> mismatches(const EndpointQos& offered, const EndpointQos& requested);
/// Some name of the one fits some of the other; no names are the name "".
[[nodiscard]] bool partitions_meet(const std::vector<std::string>& some, const std::vector<std::string>& others);

/// Why one of a topic here cannot have it with another there: their types differ. Nothing: it can.
[[nodiscard]] std::optional<std::string> type_refusal(const EndpointFacts& here, const EndpointFacts& there);

/// All topics, writers and readers of the domain. The same at all participants after the same messages and views.
class EndpointTable {
 public:
  /// Takes one in. Returns the reason if it cannot be: a topic that others have with another type or quality.
  [[nodiscard]] std::optional<std::string> add(EndpointFacts facts);
  /// Nothing: there is none.
  std::optional<EndpointFacts> remove(const EndpointId& id);
  /// Those whose process is not in the view go; returns them.
  std::vector<EndpointFacts> retain(const View& view);
  [[nodiscard]] const std::map<EndpointId, EndpointFacts>& all() const noexcept { return all_; }
  /// How often it has become another one.
  [[nodiscard]] std::uint64_t changes() const noexcept { return changes_; }

 private:
  std::map<EndpointId, EndpointFacts> all_;
  std::uint64_t changes_ = 0;
};

}  // namespace spindrift::topics
