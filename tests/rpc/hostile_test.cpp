// Peers that know a session's tokens and keep no rule: what they say is bounded by the session, and harms no other.
#include <catch2/catch.hpp>

#include "paper_network.hpp"

namespace spindrift::rpc {
namespace {

using std::chrono::milliseconds;

/// A pair with a session, whose packets a test writes.
struct Forged : PaperPair {
  Forged() : session(connected()) {
    client.call(session, 8, 8);
    round();
    to_server = on_the_way.at(0).header();
    rounds(1);
    to_client = on_the_way.at(0).header();
    rounds(2);
    SPINDRIFT_CHECK(client.answers.size() == 1);
    client.answers.clear();
    server.requests.clear();
  }

  void say(PaperNode& to, PacketHeader header, std::size_t bytes, std::byte with = std::byte{7}) {
    const auto head = encode(header);
    std::vector<std::byte> packet(head.begin(), head.end());
    packet.resize(packet.size() + bytes, with);
    to.transport.arrived.push_back({&to == &server ? 1u : 2u, &to == &server ? 2u : 1u, std::move(packet)});
  }
  [[nodiscard]] PacketHeader request(std::uint64_t number, std::uint32_t bytes, std::uint16_t packet) const {
    PacketHeader header = to_server;
    header.request = number;
    header.message_bytes = bytes;
    header.packet = packet;
    return header;
  }

  SessionId session;
  PacketHeader to_server, to_client;
};

TEST_CASE("a response that is in the burst is sent before the slot's next request replaces it") {
  Forged pair;
  pair.say(pair.server, pair.request(16, 40, 0), 40, std::byte{1});
  pair.say(pair.server, pair.request(24, 40, 0), 40, std::byte{2});
  pair.server.endpoint.step(pair.now);
  REQUIRE(pair.on_the_way.size() == 2);
  CHECK(pair.on_the_way[0].header().request == 16);
  CHECK(pair.on_the_way[0].bytes.back() == std::byte{1});
  CHECK(pair.on_the_way[1].header().request == 24);
  CHECK(pair.on_the_way[1].bytes.back() == std::byte{2});
}

TEST_CASE("a request whose size or type changes from packet to packet is not taken") {
  Forged pair;
  pair.say(pair.server, pair.request(16, 1000, 0), 512);
  pair.say(pair.server, pair.request(16, 1400, 1), 512);
  PacketHeader of_another_type = pair.request(16, 1000, 1);
  of_another_type.request_type = 2;
  pair.say(pair.server, of_another_type, 1000 - 512);
  pair.server.endpoint.step(pair.now);
  CHECK(pair.server.requests.empty());
  CHECK(pair.server.endpoint.counts().packets_strange == 2);
  pair.say(pair.server, pair.request(16, 1000, 1), 1000 - 512);
  pair.server.endpoint.step(pair.now);
  CHECK(pair.server.requests.size() == 1);
}

TEST_CASE("a response whose pieces do not fit together is not taken") {
  Forged pair;
  pair.client.call(pair.session, 8, 2000);
  pair.client.endpoint.step(pair.now);
  const std::uint64_t number = pair.on_the_way.at(0).header().request;
  pair.on_the_way.clear();
  const auto response = [&](std::uint32_t bytes, std::uint16_t packet, std::uint8_t status = 0) {
    PacketHeader header = pair.to_client;
    header.request = number;
    header.message_bytes = bytes;
    header.packet = packet;
    header.status = status;
    return header;
  };
  pair.say(pair.client, response(600, 0), 511);     // less than a first piece
  pair.say(pair.client, response(600, 0, 4), 512);  // a status that does not travel
  pair.say(pair.client, response(600, 0, 1), 512);  // a message with a failure
  pair.say(pair.client, response(600, 0), 512);
  pair.client.endpoint.step(pair.now);
  CHECK(pair.client.endpoint.counts().packets_strange == 3);
  pair.say(pair.client, response(600, 1), 512);   // more than the rest
  pair.say(pair.client, response(1024, 1), 512);  // of another message
  pair.say(pair.client, response(0, 1, 1), 0);    // a failure behind a first piece
  pair.client.endpoint.step(pair.now);
  CHECK(pair.client.endpoint.counts().packets_strange == 6);
  CHECK(pair.client.answers.empty());
  pair.say(pair.client, response(600, 1), 88);
  pair.client.endpoint.step(pair.now);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].response.size() == 600);
}

TEST_CASE("a response that comes before the request is there is taken only if it refuses it") {
  Forged pair;
  pair.client.call(pair.session, 3000, 8);
  pair.client.endpoint.step(pair.now);
  PacketHeader header = pair.to_client;
  header.request = pair.on_the_way.at(0).header().request;
  header.message_bytes = 0;
  for (const std::uint8_t status : {std::uint8_t{0}, std::uint8_t{2}}) {
    header.status = status;
    pair.say(pair.client, header, 0);
  }
  header.status = static_cast<std::uint8_t>(CallStatus::overloaded);
  header.message_bytes = 8;
  pair.say(pair.client, header, 8);
  pair.client.endpoint.step(pair.now);
  CHECK(pair.client.answers.empty());
  CHECK(pair.client.endpoint.counts().packets_strange == 3);
  header.message_bytes = 0;
  pair.say(pair.client, header, 0);
  pair.client.endpoint.step(pair.now);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].status == CallStatus::overloaded);
  CHECK(pair.client.endpoint.session(pair.session)->credits() == 32);
}

TEST_CASE("a ping that ends a request which its handler still has leaves it alone") {
  Forged pair;
  RequestId held;
  std::span<const std::byte> kept;
  pair.server.serve = [&](IncomingRequest& request) {
    held = request.id();
    kept = request.keep();
  };
  for (std::uint16_t packet = 0; packet < 2; ++packet) pair.say(pair.server, pair.request(16, 1024, packet), 512);
  PacketHeader ping = pair.to_server;
  ping.kind = PacketKind::ping;
  ping.message_bytes = 0;
  for (const std::uint64_t over : {std::uint64_t{16}, ~std::uint64_t{7}}) {
    ping.request = over;
    pair.say(pair.server, ping, 0);
  }
  pair.server.endpoint.step(pair.now);
  REQUIRE(pair.server.requests.size() == 1);
  CHECK(kept.size() == 1024);
  CHECK(std::count(kept.begin(), kept.end(), std::byte{7}) == 1024);
  pair.server.endpoint.answer(held, CallStatus::failed);
  pair.server.endpoint.step(pair.now);
  CHECK(pair.on_the_way.back().header().status == 2);
}

TEST_CASE("credits that nobody took are not given") {
  Forged pair;
  pair.client.call(pair.session, 3000, 8);
  pair.client.endpoint.step(pair.now);
  const std::uint64_t number = pair.on_the_way.at(0).header().request;
  for (std::uint16_t packet = 0; packet < 100; ++packet) {
    PacketHeader header = pair.to_client;
    header.kind = PacketKind::credit_return;
    header.request = number;
    header.message_bytes = 0;
    header.packet = packet;
    pair.say(pair.client, header, 0);
  }
  pair.client.endpoint.step(pair.now);
  CHECK(pair.client.endpoint.session(pair.session)->credits() == 31);  // the last of six packets has no credit return
  CHECK(pair.client.endpoint.counts().packets_strange == 1);
}

TEST_CASE("a session that is spoiled by its client leaves others as they are") {
  Forged pair;
  const SessionId other = pair.client.endpoint.connect(route_to(2), pair.client).value();
  pair.rounds(4);
  pair.say(pair.server, pair.request(~std::uint64_t{7}, 8, 0), 8);  // the slot's last request ever
  pair.server.endpoint.step(pair.now);
  pair.on_the_way.clear();
  pair.client.call(other, 100, 100);
  pair.rounds(4);
  CHECK(pair.client.answers.size() == 1);
}

TEST_CASE("an offer with more credits than the server has gets what it has, and a grant of more than asked for is ignored") {
  PaperPair pair({.credits = 4});
  const SessionId session = pair.client.endpoint.connect(route_to(2), pair.client).value();
  pair.client.endpoint.step(pair.now);
  PacketHeader header{.kind = PacketKind::accept, .session = session.number};
  header.token = decode_offer(std::span(pair.on_the_way.at(0).bytes).subspan(header_bytes)).value().token;
  auto packet = encode(header);
  const auto grant = encode(SessionGrant{.session = 1, .credits = 5, .token = 2});
  std::vector<std::byte> bytes(packet.begin(), packet.end());
  bytes.insert(bytes.end(), grant.begin(), grant.end());
  pair.client.transport.arrived.push_back({2, 1, bytes});
  pair.client.endpoint.step(pair.now);
  CHECK(pair.client.changes.empty());
  pair.rounds(4);
  CHECK(pair.client.changes == std::vector{SessionChange::connected});
}

}  // namespace
}  // namespace spindrift::rpc
