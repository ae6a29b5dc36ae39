// The things that all members of a subgroup have alike beside its members: how it delivers, and how large its rings are.
#pragma once

#include <cstdint>

namespace spindrift {

/// How a subgroup hands messages to the application.
enum class DeliveryMode : std::uint8_t {
  ordered,    ///< atomic: same total order at all members, nothing before everybody holds it
  unordered,  ///< on receipt, first in first out per sender
};

/// The storage of a subgroup's messages.
enum class SubgroupStorage : std::uint8_t {
  memory,  ///< nothing, once all members have delivered them
  logged,  ///< each member's journal has them, in the order in which they are delivered; ordered subgroups alone
};

/// Least and most bytes of a ring, whether a file, a command or a message of another member names them.
inline constexpr std::uint64_t ring_bytes_min = std::uint64_t{1} << 12;
inline constexpr std::uint64_t ring_bytes_max = std::uint64_t{1} << 30;

/// The sizes of a subgroup's rings. Equal at all members.
struct Profile {
  std::uint64_t ring_bytes = 0;         ///< power of two, ring_bytes_min … ring_bytes_max
  std::uint64_t window_messages = 0;    ///< most records of one sender in flight, 1 … 2^20
  std::uint64_t message_bytes_max = 0;  ///< largest payload, at most half of the ring that it lies in, less 8 bytes in the
                                        ///< row's ring
  std::uint64_t bulk_ring_bytes = 0;    ///< of a sender's ring for large messages: 0 (none are large) or a power of two
  std::uint64_t large_message_bytes = 0;  ///< with a bulk ring: a payload of more bytes than this lies there; at least 16
  bool split_rows = false;  ///< a sender's ring lies in memory of its own, which members of the subgroup alone are shown

  /// Largest payload that lies in the row's ring.
  [[nodiscard]] constexpr std::uint64_t ring_payload_max() const noexcept {
    return bulk_ring_bytes == 0 || message_bytes_max < large_message_bytes ? message_bytes_max : large_message_bytes;
  }
  bool operator==(const Profile&) const noexcept = default;
};

}  // namespace spindrift
