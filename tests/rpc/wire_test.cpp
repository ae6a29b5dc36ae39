// Headers, offers and grants as bytes, and bytes that are none of them.
#include <catch2/catch.hpp>

#include <spindrift/rpc/message_buffer.hpp>
#include <spindrift/rpc/wire.hpp>

namespace spindrift::rpc {
namespace {

constexpr std::size_t payload = 1024;

std::vector<std::byte> packet_of(const PacketHeader& header, std::size_t payload_size) {
  const auto head = encode(header);
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.resize(bytes.size() + payload_size);
  return bytes;
}

TEST_CASE("a packet comes out of its bytes as it went in") {
  const PacketHeader header{.kind = PacketKind::request,
                            .request_type = 200,
                            .status = 0,
                            .session = 0x01020304,
                            .token = 0x1122334455667788,
                            .request = 0x99aabbccddeeff00,
                            .message_bytes = 3000,
                            .packet = 2};
  const auto bytes = packet_of(header, 3000 - 2 * payload);
  const auto packet = decode(bytes, payload);
  REQUIRE(packet);
  CHECK(packet->header.kind == header.kind);
  CHECK(packet->header.request_type == header.request_type);
  CHECK(packet->header.session == header.session);
  CHECK(packet->header.token == header.token);
  CHECK(packet->header.request == header.request);
  CHECK(packet->header.message_bytes == header.message_bytes);
  CHECK(packet->header.packet == header.packet);
  CHECK(packet->payload.data() == bytes.data() + header_bytes);
  CHECK(packet->payload.size() == 3000 - 2 * payload);
}

TEST_CASE("a header is 32 bytes, of which the first is the version") {
  const auto bytes = encode(PacketHeader{.kind = PacketKind::ping, .request = ~0ull});
  STATIC_REQUIRE(bytes.size() == 32);
  CHECK(bytes[0] == std::byte{1});
  CHECK(bytes[30] == std::byte{0});
  CHECK(bytes[31] == std::byte{0});
}

TEST_CASE("bytes that are no packet are refused") {
  const PacketHeader request{.kind = PacketKind::request, .message_bytes = 100};
  const auto good = packet_of(request, 100);
  REQUIRE(decode(good, payload));
  const auto changed = [&](std::size_t at, int value) {
    auto bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return decode(bytes, payload).has_value();
  };
  CHECK_FALSE(changed(0, 2));                             // a version that is not known
  CHECK_FALSE(changed(1, 0));                             // no kind
  CHECK_FALSE(changed(1, packet_kind_last + 1));          // one that is not known
  CHECK_FALSE(changed(30, 2));                            // neither late nor not
  CHECK_FALSE(changed(27, 1));                            // 16 MiB
  CHECK_FALSE(changed(28, 1));                            // a packet beyond the message
  CHECK_FALSE(decode(packet_of(request, 99), payload));   // less than the message
  CHECK_FALSE(decode(packet_of(request, 101), payload));  // more
  CHECK_FALSE(decode(std::span(good).first(header_bytes - 1), payload));
  CHECK_FALSE(decode({}, payload));
  CHECK_FALSE(decode(packet_of({.kind = PacketKind::ping}, 1), payload));
  CHECK_FALSE(decode(packet_of({.kind = PacketKind::response, .message_bytes = 2000}, payload + 1), payload));
  CHECK_FALSE(decode(packet_of({.kind = PacketKind::connect}, offer_bytes - 1), payload));
  CHECK_FALSE(decode(packet_of({.kind = PacketKind::accept}, grant_bytes + 1), payload));
}

TEST_CASE("an offer and a grant come out as they went in, and need a credit") {
  const auto offer = decode_offer(encode(SessionOffer{.session = 7, .credits = 32, .token = 9, .payload_bytes = 1400}));
  REQUIRE(offer);
  CHECK((offer->session == 7 && offer->credits == 32 && offer->token == 9 && offer->payload_bytes == 1400));
  const auto grant = decode_grant(encode(SessionGrant{.session = 8, .credits = 16, .token = 10}));
  REQUIRE(grant);
  CHECK((grant->session == 8 && grant->credits == 16 && grant->token == 10));
  CHECK_FALSE(decode_offer(encode(SessionOffer{.session = 7, .token = 9, .payload_bytes = 1400})));
  CHECK_FALSE(decode_grant(encode(SessionGrant{.session = 8, .token = 10})));
}

TEST_CASE("packets of a message are as many as its pieces, and an empty message is one") {
  CHECK(packets_of(0, payload) == 1);
  CHECK(packets_of(1, payload) == 1);
  CHECK(packets_of(payload, payload) == 1);
  CHECK(packets_of(payload + 1, payload) == 2);
  CHECK(packets_of(message_bytes_most, payload_bytes_least) == 16384);
  CHECK(bytes_in_packet(payload + 1, payload, 0) == payload);
  CHECK(bytes_in_packet(payload + 1, payload, 1) == 1);
  CHECK(bytes_in_packet(payload + 1, payload, 2) == 0);
}

TEST_CASE("a message is contiguous, its first header directly before it and all others behind") {
  MessageBuffer buffer(2 * payload + 5, payload);
  REQUIRE(buffer.packets() == 3);
  const std::byte* const data = buffer.data().data();
  CHECK(buffer.header(0).data() + header_bytes == data);
  CHECK(buffer.piece(0).data() == data);
  CHECK(buffer.piece(1).data() == data + payload);
  CHECK(buffer.piece(2).data() == data + 2 * payload);
  CHECK(buffer.piece(2).size() == 5);
  CHECK(buffer.header(1).data() == data + 2 * payload + 8);  // behind padding to eight bytes
  CHECK(buffer.header(2).data() == buffer.header(1).data() + header_bytes);
  buffer.resize(payload);
  CHECK(buffer.packets() == 1);
  CHECK(buffer.data().size() == payload);
  const MessageBuffer taken = std::move(buffer);
  CHECK(buffer.empty());  // NOLINT: what was moved from is empty
  CHECK(taken.data().data() == data);
}

}  // namespace
}  // namespace spindrift::rpc
