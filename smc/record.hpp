// One record of a byte ring: an 8-byte header word, then the payload, padded to 8 bytes.
//
//   bits 0–31   length of the payload in bytes; for a null run the number of messages that it stands for
//   bits 32–39  kind
//   bits 40–63  the record's number in its ring, modulo 2^24: a stale or misplaced header does not match
//
// The whole header is one word, so a reader takes it in one load, validates that copy and never looks again.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/untrusted.hpp>

namespace spindrift::smc {

inline constexpr std::uint64_t header_bytes = 8;
inline constexpr std::uint64_t record_number_mask = (1u << 24) - 1;

enum class RecordKind : std::uint8_t {
  data = 1,      ///< one message of the application
  null_run = 2,  ///< `length` messages that nobody sent, so that the order can go on; no payload
  padding = 3,   ///< `length` bytes up to the end of the ring; belongs to the record that follows at the start
  abandoned = 4, ///< one message given up while it was built: takes its space and its place, is delivered to nobody
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
      if (code < 1 || code > 4 || bits >> 40 != (expected & record_number_mask)) return std::nullopt;
      return RecordHeader{static_cast<std::uint32_t>(bits), static_cast<RecordKind>(code), bits >> 40};
    });
  }
};

/// Ring bytes that a record with this payload takes.
[[nodiscard]] constexpr std::uint64_t record_bytes(std::uint64_t payload) noexcept {
  return header_bytes + (payload + 7) / 8 * 8;
}

}  // namespace spindrift::smc
