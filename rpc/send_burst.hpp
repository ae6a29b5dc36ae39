// The packets that one step sends, gathered so that the transport is called once. Packets of messages are named by
// reference: before a buffer leaves its owner, `let_go` sends what still refers to it (eRPC, section 4.2.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/rpc/message_buffer.hpp>
#include <spindrift/rpc/packet_transport.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {

class SendBurst {
 public:
  SendBurst(PacketTransport& transport, std::size_t packets_max);

  /// A packet with a piece of a message, whose header is written into the buffer's room for it. Returns the number of the
  /// burst it is in, for `let_go`.
  std::uint64_t add(const PacketRoute& to, const PacketHeader& header, MessageBuffer& message, std::uint32_t piece);
  /// A packet of a header and up to `copied_payload_most` bytes, which are copied.
  void add_copied(const PacketRoute& to, const PacketHeader& header, std::span<const std::byte> payload = {});

  /// Sends what was added.
  void flush();
  /// From here on nothing that was added in that burst is referred to.
  void let_go(std::uint64_t burst) {
    if (burst == burst_) flush();
  }

  /// Nothing waits for `flush`.
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::uint64_t packets_sent() const noexcept { return packets_sent_; }

  static constexpr std::size_t copied_payload_most = offer_bytes;

 private:
  PacketTransport& transport_;
  std::vector<OutgoingPacket> packets_;
  std::vector<std::array<std::byte, header_bytes + copied_payload_most>> copies_;  ///< one for each place of the burst
  std::size_t count_ = 0;
  std::uint64_t burst_ = 1;  ///< of those being gathered; 0 names none
  std::uint64_t packets_sent_ = 0;
};

}  // namespace spindrift::rpc
