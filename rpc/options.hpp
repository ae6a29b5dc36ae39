// The settings of an endpoint of calls, and what it counts.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/rpc/congestion.hpp>
#include <spindrift/rpc/packet_transport.hpp>

namespace spindrift::rpc {

struct RpcOptions {
  /// Packets of a client that a session has under way at most. Enough for a full link are its bandwidth times its round
  /// trip, in packets.
  std::uint32_t credits = 32;
  /// Packets that may wait to be received. Each session, of either side, has `credits` of them. 0: as many as the transport
  /// has room for, which are the most.
  std::uint32_t receive_packets = 0;
  /// Sessions that a server has over one route at most, with those that have ended and still owe answers; 0: no bound but
  /// the packets. For transports whose routes cost a peer something, as connections do.
  std::uint32_t route_sessions_max = 0;
  std::uint32_t queued_calls_max = 1024;  ///< of a session, beyond those in its slots
  std::uint32_t burst_packets = 32;       ///< sent in one call of the transport
  std::uint32_t message_bytes_max = 8u << 20;  ///< longer requests are `unhandled`
  /// Bytes of requests and responses longer than a packet that a server keeps, for all of its sessions and for each. A
  /// request beyond them is `overloaded`. Beside them a session has room for eight requests and responses of a packet.
  std::uint64_t kept_bytes_max = 256u << 20;
  std::uint64_t session_kept_bytes_max = 64u << 20;
  /// A client repeats what was not answered for so long; after each repetition in vain twice as long, up to eight times.
  Duration retransmit_after = std::chrono::milliseconds(5);
  /// A peer that is not heard for so long is lost. Clients ping four times in it.
  Duration silence_max = std::chrono::seconds(2);
  CongestionOptions congestion{};

  /// Whether an endpoint over that transport can be so. Errors: bad_argument.
  [[nodiscard]] Result<void> check(const PacketTransport& transport) const;
};

struct RpcCounts {
  std::uint64_t calls = 0;             ///< that were taken
  std::uint64_t answers = 0;           ///< of these, ended with a response
  std::uint64_t failures = 0;          ///< ended otherwise
  std::uint64_t handled = 0;           ///< requests for which a handler was called
  std::uint64_t handled_in_place = 0;  ///< of these, where the transport had received them
  std::uint64_t packets_received = 0;
  std::uint64_t packets_strange = 0;      ///< of these, no packets, or without a token that is in use
  std::uint64_t packets_out_of_turn = 0;  ///< repetitions, and what overtook a packet
  std::uint64_t retransmissions = 0;      ///< times that a client went back
  std::uint64_t sessions_refused = 0;     ///< by this endpoint
  std::uint64_t requests_overloaded = 0;  ///< likewise, for want of memory, before a handler was called
  std::uint64_t sessions_lost = 0;
};

}  // namespace spindrift::rpc
