// Packets to bytes, and bytes of anybody to packets.
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {
namespace {

constexpr std::uint8_t wire_version = 1;

/// The payload that belongs to the header; nothing if that is for the session to say, which knows the request's size.
std::optional<std::size_t> payload_wanted(const PacketHeader& header, std::size_t payload_bytes) {
  switch (header.kind) {
    case PacketKind::connect: return offer_bytes;
    case PacketKind::accept: return grant_bytes;
    case PacketKind::request: return bytes_in_packet(header.message_bytes, payload_bytes, header.packet);
    case PacketKind::response: return std::nullopt;
    default: return 0;
  }
}

bool piece_exists(const PacketHeader& header, std::size_t payload_bytes) {
  return header.kind != PacketKind::request || header.packet < packets_of(header.message_bytes, payload_bytes);
}

}  // namespace

std::array<std::byte, header_bytes> encode(const PacketHeader& header) noexcept {
  return field_bytes(wire_version, static_cast<std::uint8_t>(header.kind), header.request_type, header.status,
                     header.session, header.token, header.request, header.message_bytes, header.packet,
                     std::uint16_t{header.late});
}

std::optional<ReceivedPacket> decode(std::span<const std::byte> packet, std::size_t payload_bytes) noexcept {
  ByteReader fields(packet);
  const auto version = fields.get<std::uint8_t>();
  const auto kind = fields.get<std::uint8_t>();
  PacketHeader header;
  header.request_type = fields.get<std::uint8_t>();
  header.status = fields.get<std::uint8_t>();
  header.session = fields.get<std::uint32_t>();
  header.token = fields.get<std::uint64_t>();
  header.request = fields.get<std::uint64_t>();
  header.message_bytes = fields.get<std::uint32_t>();
  header.packet = fields.get<std::uint16_t>();
  const auto late = fields.get<std::uint16_t>();
  if (!fields.ok() || version != wire_version || late > 1) return std::nullopt;
  if (kind == 0 || kind > packet_kind_last || header.message_bytes > message_bytes_most) return std::nullopt;
  header.kind = static_cast<PacketKind>(kind);
  header.late = late == 1;
  if (fields.rest().size() > payload_bytes || !piece_exists(header, payload_bytes)) return std::nullopt;
  const auto wanted = payload_wanted(header, payload_bytes);
  if (wanted && *wanted != fields.rest().size()) return std::nullopt;
  return ReceivedPacket{header, fields.rest()};
}

std::array<std::byte, offer_bytes> encode(const SessionOffer& offer) noexcept {
  return field_bytes(offer.session, offer.credits, offer.token, offer.payload_bytes, std::uint32_t{0});
}

std::array<std::byte, grant_bytes> encode(const SessionGrant& grant) noexcept {
  return field_bytes(grant.session, grant.credits, grant.token);
}

std::optional<SessionOffer> decode_offer(std::span<const std::byte> payload) noexcept {
  ByteReader fields(payload);
  SessionOffer offer;
  offer.session = fields.get<std::uint32_t>();
  offer.credits = fields.get<std::uint32_t>();
  offer.token = fields.get<std::uint64_t>();
  offer.payload_bytes = fields.get<std::uint32_t>();
  const auto reserved = fields.get<std::uint32_t>();
  if (!fields.complete() || offer.credits == 0 || reserved != 0) return std::nullopt;
  return offer;
}

std::optional<SessionGrant> decode_grant(std::span<const std::byte> payload) noexcept {
  ByteReader fields(payload);
  SessionGrant grant;
  grant.session = fields.get<std::uint32_t>();
  grant.credits = fields.get<std::uint32_t>();
  grant.token = fields.get<std::uint64_t>();
  if (!fields.complete() || grant.credits == 0) return std::nullopt;
  return grant;
}

}  // namespace spindrift::rpc
