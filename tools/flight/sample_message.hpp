// The messages of a replay: one message per recorded sample, a fixed header and the sample's fields. Little-endian; decoding
// checks every byte, for a message comes from another process.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/core/bytes.hpp>

#include "ulog.hpp"

namespace spindrift::tools {

/// The first 16 bytes of a message; the fields as recorded follow, without their timestamp.
struct SampleHeader {
  std::uint64_t timestamp_us = 0;  ///< the sample's, as recorded
  std::uint32_t number = 0;        ///< counts this topic's samples from 0, modulo 2^32
  std::uint16_t topic = 0;         ///< index into the recording's topics; all members read the same file
  std::uint8_t instance = 0;       ///< which of several equal sensors
  std::uint8_t reserved = 0;       ///< 0
};
static_assert(sizeof(SampleHeader) == 16 && WireField<SampleHeader>);

[[nodiscard]] inline std::uint64_t message_bytes(const ulog::Sample& sample) noexcept {
  return sizeof(SampleHeader) + sample.fields.size();
}

/// Writes the message into `to`, which has message_bytes(sample).
inline void encode_sample(const ulog::Sample& sample, std::uint32_t number, std::span<std::byte> to) noexcept {
  const SampleHeader header{
      .timestamp_us = sample.timestamp_us, .number = number, .topic = sample.topic, .instance = sample.instance};
  const auto after_header = std::ranges::copy(field_bytes(header), to.begin()).out;
  std::ranges::copy(sample.fields, after_header);
}

/// The header of a delivered message; nothing if it is too short or names no topic.
[[nodiscard]] inline std::optional<SampleHeader> decode_header(std::span<const std::byte> message,
                                                               std::size_t topics) noexcept {
  const auto header = field_at_front<SampleHeader>(message);
  if (!header || header->topic >= topics || header->reserved != 0) return std::nullopt;
  return header;
}

}  // namespace spindrift::tools
