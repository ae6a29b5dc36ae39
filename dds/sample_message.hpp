// A sample, or news of an instance, as a message of its topic's subgroup: a header, then the sample's bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <spindrift/core/digest.hpp>
#include <spindrift/dds/endpoint.hpp>

namespace spindrift::topics {

enum class SampleKind : std::uint8_t {
  data,        ///< a sample
  dispose,     ///< the instance is disposed of; the sample has its key
  unregister,  ///< the writer has no more to say of the instance; likewise
  both,        ///< it is disposed of, and then so
  gone,        ///< the writer is gone: nothing of it follows
};

/// As it travels: words in the order of the machine, which all members share. What is behind it is 8-byte aligned.
struct SampleEnvelope {
  std::uint64_t form = current_form;
  std::uint64_t topic = 0;  ///< the digest of its name
  std::uint64_t type = 0;   ///< the identity of the sample's type
  EndpointId writer;
  std::uint64_t sequence = 0;         ///< of the writer: from 1 on, without gaps
  std::int64_t source_timestamp = 0;  ///< nanoseconds since 1970
  std::int64_t lifespan_ns = endless;
  Digest key;
  std::uint8_t kind = 0;
  std::uint8_t durability = 0;
  std::uint16_t depth = 0;    ///< of the history for late joiners, by instance; 0 where there is none
  std::int32_t strength = 0;  ///< of the writer, as the sample was written: so all readers agree on who owns an instance

  static constexpr std::uint64_t current_form = 0x3173646473647073;  // "spdsdds1"
  bool operator==(const SampleEnvelope&) const noexcept = default;
};
static_assert(sizeof(SampleEnvelope) == 88 && std::is_trivially_copyable_v<SampleEnvelope>);

struct SampleMessage {
  SampleEnvelope header;
  std::span<const std::byte> bytes;
  std::uint64_t version = 0;  ///< in the log of a logged topic, once it is delivered
};

/// As messages name a topic.
[[nodiscard]] inline std::uint64_t digest_of_topic(const std::string& topic) noexcept { return digest_of(topic).words[0]; }

/// Nothing: these bytes are no such message, or not that node's.
[[nodiscard]] std::optional<SampleMessage> parse_sample(std::span<const std::byte> message, std::uint32_t sender);

}  // namespace spindrift::topics
