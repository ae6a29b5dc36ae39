// One record of a byte ring: an 8-byte header word, then the payload, padded to 8 bytes.
//
//   bits 0–31   length of the payload in bytes; for a null run the number of messages that it stands for
//   bits 32–39  kind
//   bits 40–63  the record's number in its ring, modulo 2^24: a stale or misplaced header does not match
//
// The whole header is one word, so a reader takes it in one load, validates that copy and never looks again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/untrusted.hpp>

namespace spindrift::smc {

inline constexpr std::uint64_t header_bytes = 8;
inline constexpr std::uint64_t record_number_mask = (1u << 24) - 1;

enum class RecordKind : std::uint8_t {
  data = 1,             ///< one message of the application
  null_run = 2,         ///< `length` messages that nobody sent, so that the order can go on; no payload
  padding = 3,          ///< `length` bytes up to the end of the ring; belongs to the record that follows at the start
  abandoned = 4,        ///< one message given up while it was built: takes its space and its place, is delivered to nobody
  large = 5,            ///< one message whose bytes lie in the sender's bulk ring; the record's payload says where
  large_abandoned = 6,  ///< the same, given up: takes its space in both rings, and its place
};

struct RecordHeader {
  std::uint32_t length = 0;
  RecordKind kind = RecordKind::data;
  std::uint64_t number = 0;  ///< modulo 2^24

  [[nodiscard]] constexpr std::uint64_t encode() const noexcept {
    return length | static_cast<std::uint64_t>(kind) << 32 | (number & record_number_mask) << 40;
  }

  /// The header if its kind is known and its number is `expected`; the length is still to be bounded by the reader.
  [[nodiscard]] static constexpr std::optional<RecordHeader> decode(Untrusted<std::uint64_t> word, std::uint64_t expected) {
    return word.validate([&](std::uint64_t bits) -> std::optional<RecordHeader> {
      const std::uint64_t code = bits >> 32 & 0xff;
      if (code < 1 || code > 6 || bits >> 40 != (expected & record_number_mask)) return std::nullopt;
      return RecordHeader{static_cast<std::uint32_t>(bits), static_cast<RecordKind>(code), bits >> 40};
    });
  }
};

/// The payload of a large message's record: two words that say where its bytes lie.
struct LargeDescriptor {
  std::uint64_t position = 0;  ///< in the stream of the bulk ring; the offset is this modulo the ring's size
  std::uint64_t length = 0;    ///< of the message

  [[nodiscard]] constexpr std::uint64_t offset(std::uint64_t bulk_ring_bytes) const noexcept {
    return position & (bulk_ring_bytes - 1);
  }
  /// Position in the stream behind the message.
  [[nodiscard]] constexpr std::uint64_t end() const noexcept;

  /// The descriptor at `at` if the message lies in one piece inside a bulk ring of that size, a power of two, and is no
  /// longer than the largest. Each word is read once.
  [[nodiscard]] static std::optional<LargeDescriptor> read(const std::byte* at, std::uint64_t bulk_ring_bytes,
                                                           std::uint64_t message_bytes_max);
};

inline constexpr std::uint64_t descriptor_bytes = 16;
/// Messages in a bulk ring begin at multiples of this.
inline constexpr std::uint64_t bulk_alignment = cache_line_bytes;

/// Bulk ring bytes that a message of this length takes.
[[nodiscard]] constexpr std::uint64_t bulk_bytes(std::uint64_t length) noexcept {
  return (length + bulk_alignment - 1) / bulk_alignment * bulk_alignment;
}

constexpr std::uint64_t LargeDescriptor::end() const noexcept { return position + bulk_bytes(length); }

inline std::optional<LargeDescriptor> LargeDescriptor::read(const std::byte* at, std::uint64_t bulk_ring_bytes,
                                                            std::uint64_t message_bytes_max) {
  const auto position = read_word(at).validate([](std::uint64_t bits) -> std::optional<std::uint64_t> {
    return bits % bulk_alignment == 0 ? std::optional(bits) : std::nullopt;
  });
  const auto length = read_word(at + sizeof(std::uint64_t)).within(1, message_bytes_max);
  if (!position || !length) return std::nullopt;
  const LargeDescriptor descriptor{*position, *length};
  if (*length > bulk_ring_bytes - descriptor.offset(bulk_ring_bytes)) return std::nullopt;
  return descriptor;
}

/// Ring bytes that a record with this payload takes.
[[nodiscard]] constexpr std::uint64_t record_bytes(std::uint64_t payload) noexcept {
  return header_bytes + (payload + 7) / 8 * 8;
}

}  // namespace spindrift::smc
