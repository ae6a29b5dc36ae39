// Packets over a socket between two processes of a host, each with at most one descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift::fabric::shm {

/// One packet as it came. `bytes` points into the receiver's buffer.
struct Packet {
  /// starved: it carried a descriptor, and this process may have no more of them.
  enum class Outcome : std::uint8_t { frame, nothing, ended, broken, starved };
  Outcome outcome = Outcome::nothing;
  std::span<const std::byte> bytes;
  FileDescriptor descriptor;
};

/// Takes one packet without blocking. Ordinary ends of a connection are `ended`; anything that no correct peer sends, and
/// what is longer than the buffer, `broken`.
[[nodiscard]] Packet receive_packet(int socket, std::span<std::byte> buffer) noexcept;

enum class SendOutcome : std::uint8_t { sent, full, failed };

/// Sends one packet without blocking; `descriptor` goes along unless it is -1.
[[nodiscard]] SendOutcome send_packet(int socket, std::span<const std::byte> head, std::span<const std::byte> body,
                                      int descriptor) noexcept;

}  // namespace spindrift::fabric::shm
