// The seam between calls and what carries their packets. A packet that arrives is one that was sent; it may also arrive
// twice, late, behind a later one, or not at all. A transport whose wire can change bytes finds that out and drops them.
//
// Calls are made per burst, never per packet. Threading: a transport belongs to the thread of its endpoint.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace spindrift::rpc {

/// The place that packets of a peer come from and go to, as the transport writes it. Endpoints only compare it.
struct PacketRoute {
  std::array<std::uint64_t, 3> words{};
  bool operator==(const PacketRoute&) const = default;
};

struct OutgoingPacket {
  PacketRoute to;
  std::span<const std::byte> header;
  std::span<const std::byte> payload;  ///< directly behind the header in memory, or elsewhere
};

struct IncomingPacket {
  PacketRoute from;
  std::span<const std::byte> bytes;
};

class PacketTransport {
 public:
  virtual ~PacketTransport() = default;

  /// The largest payload of a packet, beside `header_bytes`. Constant.
  [[nodiscard]] virtual std::size_t payload_bytes() const noexcept = 0;

  /// Packets, of any size, that may wait for `receive` without one being lost; at least 1. Constant.
  [[nodiscard]] virtual std::uint32_t receive_packets() const noexcept = 0;

  /// Sends a burst. Once it returns the transport has no reference to the packets' bytes any more. A packet that finds no
  /// room is lost.
  virtual void send(std::span<const OutgoingPacket> burst) = 0;

  /// Packets that have come, as many as make a burst; none if nothing has. Their bytes are this process's own, which no peer
  /// can change, and stay until the next call.
  [[nodiscard]] virtual std::span<const IncomingPacket> receive() = 0;

  /// Routes that are over, for transports that know: nothing goes there any more, and all that came from there `receive` has
  /// given. Each is told once, and again if something is sent there nevertheless. They stay until the next call.
  [[nodiscard]] virtual std::span<const PacketRoute> ended_routes() { return {}; }
};

}  // namespace spindrift::rpc
