// The packets of calls: a header of 32 bytes and a piece of a message. A packet is checked once, here; what depends on the
// state of a session, that session checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <spindrift/core/bytes.hpp>

namespace spindrift::rpc {

inline constexpr std::size_t header_bytes = 32;
inline constexpr std::size_t message_bytes_most = std::size_t{8} << 20;
/// Slots of a session: so many calls of it are under way at once. A slot is used by every eighth request number.
inline constexpr std::uint32_t slots_per_session = 8;

/// Bytes of a message in each packet but the last. With fewer than `payload_bytes_least` the packet numbers of the largest
/// request and its response would not fit into 16 bits.
inline constexpr std::size_t payload_bytes_least = 512;
inline constexpr std::size_t payload_bytes_most = 65'000;
static_assert(2 * (message_bytes_most / payload_bytes_least) <= UINT16_MAX);

/// Packets of a message; an empty one is a packet, too.
[[nodiscard]] constexpr std::uint32_t packets_of(std::size_t message_bytes, std::size_t payload_bytes) noexcept {
  return message_bytes == 0 ? 1 : static_cast<std::uint32_t>((message_bytes + payload_bytes - 1) / payload_bytes);
}
/// Bytes of a message in its packet `index`.
[[nodiscard]] constexpr std::size_t bytes_in_packet(std::size_t message_bytes, std::size_t payload_bytes,
                                                    std::uint32_t index) noexcept {
  const std::size_t before = payload_bytes * index;
  if (before >= message_bytes) return 0;
  return message_bytes - before < payload_bytes ? message_bytes - before : payload_bytes;
}

/// A packet goes from a client to a server or back, never both: its kind says which of the receiver's sessions it is for.
enum class PacketKind : std::uint8_t {
  connect = 1,           ///< client: wants a session
  request = 2,           ///< client: a piece of a request
  request_for_response,  ///< client: wants a further piece of the response
  ping,                  ///< client: is there; may name a request that is over
  leave,                 ///< client: has ended the session
  accept,                ///< server: the session is there
  refuse,                ///< server: it will not be, for the reason in `status`
  credit_return,         ///< server: has a piece of a request that is not the last one
  response,              ///< server: a piece of the response
  pong,                  ///< server: is there; names that request if it keeps nothing of it
  dismiss,               ///< server: has ended the session
};
inline constexpr std::uint8_t packet_kind_last = static_cast<std::uint8_t>(PacketKind::dismiss);

/// The first packets of requests are numbered from 0, their last packet and the first of the response have the same number,
/// and the requests for the others of the response go on from there with the numbers of what they ask for. So packet `n` of
/// a server always answers packet `n` of the client.
struct PacketHeader {
  PacketKind kind{};
  std::uint8_t request_type = 0;
  std::uint8_t status = 0;          ///< of a response, a CallStatus; of a refusal, its reason
  std::uint32_t session = 0;        ///< as its receiver numbers it
  std::uint64_t token = 0;          ///< the receiver's for this session: a packet without it is a stranger's
  std::uint64_t request = 0;        ///< number of the request in the session
  std::uint32_t message_bytes = 0;  ///< of the whole request or response that the packet is a piece of
  std::uint16_t packet = 0;
  bool late = false;  ///< of a response: its handler took its time, which is not the network's
};

struct ReceivedPacket {
  PacketHeader header;
  std::span<const std::byte> payload;
};

[[nodiscard]] std::array<std::byte, header_bytes> encode(const PacketHeader& header) noexcept;

/// The packet if it is one: a version and kind that are known, sizes within bounds, and exactly the payload that kind and
/// header ask for, as far as that can be known without the session. `payload_bytes` is what the receiver's sessions use.
[[nodiscard]] std::optional<ReceivedPacket> decode(std::span<const std::byte> packet, std::size_t payload_bytes) noexcept;

/// The client's word on the session that it wants, in the payload of `connect`.
struct SessionOffer {
  std::uint32_t session = 0;  ///< the client's number for it
  std::uint32_t credits = 0;
  std::uint64_t token = 0;  ///< the client's; it names the session until the server has named it, too
  std::uint32_t payload_bytes = 0;
};
/// The server's word on it, in the payload of `accept`.
struct SessionGrant {
  std::uint32_t session = 0;  ///< the server's number
  std::uint32_t credits = 0;  ///< at most those of the offer, at least 1
  std::uint64_t token = 0;    ///< the server's
};

inline constexpr std::size_t offer_bytes = 24;
inline constexpr std::size_t grant_bytes = 16;
[[nodiscard]] std::array<std::byte, offer_bytes> encode(const SessionOffer& offer) noexcept;
[[nodiscard]] std::array<std::byte, grant_bytes> encode(const SessionGrant& grant) noexcept;
/// The payload of a decoded `connect` or `accept`; nothing if a value is out of its range.
[[nodiscard]] std::optional<SessionOffer> decode_offer(std::span<const std::byte> payload) noexcept;
[[nodiscard]] std::optional<SessionGrant> decode_grant(std::span<const std::byte> payload) noexcept;

}  // namespace spindrift::rpc
