// Memory that servers keep for their clients' messages: within its bounds, refused beyond them, and given back.
#include <catch2/catch.hpp>

#include "paper_network.hpp"

namespace spindrift::rpc {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t large = 8 * 1024;
/// A server that keeps two large messages for a session, and three in all.
const RpcOptions three{.message_bytes_max = large, .kept_bytes_max = 3 * large, .session_kept_bytes_max = 2 * large};

struct Kept : PaperPair {
  Kept() : PaperPair({}, three), session(connected()) {
    server.serve = [this](IncomingRequest& request) { held.push_back(request.id()); };
  }
  void answer_all(std::size_t bytes = 0) {
    for (const RequestId request : std::exchange(held, {})) {
      SPINDRIFT_CHECK(server.endpoint.make_response(request, bytes).ok());
      server.endpoint.answer(request);
    }
  }
  [[nodiscard]] std::uint64_t kept() const { return server.endpoint.kept_bytes(); }

  SessionId session;
  std::vector<RequestId> held;
};

TEST_CASE("a request beyond what is kept for its session is overloaded, and one of a packet is not") {
  Kept pair;
  for (int i = 0; i < 3; ++i) pair.client.call(pair.session, large, 8);
  pair.client.call(pair.session, 8, 8);
  pair.rounds(20);
  CHECK(pair.kept() == 2 * large);
  CHECK(pair.held.size() == 3);
  CHECK(pair.server.endpoint.counts().requests_overloaded == 1);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].status == CallStatus::overloaded);
  CHECK(pair.client.answers[0].tag == 3);
  pair.answer_all(8);
  pair.rounds(4);
  CHECK(pair.kept() == 2 * large);  // small enough to be used again
  REQUIRE(pair.client.answers.size() == 4);
  pair.client.call(pair.session, large, 8);  // the same once more
  pair.rounds(20);
  CHECK(pair.held.size() == 1);
  pair.answer_all(8);
  pair.rounds(4);
  CHECK(pair.client.endpoint.session(pair.session)->credits() == 32);
}

TEST_CASE("what is kept for all sessions is bounded, too, and comes back with a session's end") {
  Kept pair;
  const SessionId other = pair.client.endpoint.connect(route_to(2), pair.client).value();
  pair.rounds(4);
  for (const SessionId session : {pair.session, other, pair.session, other}) pair.client.call(session, large, 8);
  pair.rounds(20);
  CHECK(pair.kept() == 3 * large);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].status == CallStatus::overloaded);
  pair.client.endpoint.close(pair.session);
  pair.rounds(4);
  CHECK(pair.kept() == 3 * large);  // its handlers have not answered
  pair.answer_all();
  pair.rounds(4);
  CHECK(pair.kept() == large);
  pair.client.endpoint.close(other);
  pair.rounds(4);
  CHECK(pair.kept() == 0);
}

TEST_CASE("a request without room is refused by its first packet") {
  Kept pair;
  for (int i = 0; i < 2; ++i) pair.client.call(pair.session, large, 8);
  pair.rounds(20);
  pair.log.clear();
  pair.client.call(pair.session, large, 8);
  pair.rounds(4);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.delivered(PacketKind::response) == 1);
  CHECK(pair.delivered(PacketKind::credit_return) == 0);
  CHECK(pair.log.back().header().packet == 0);
}

TEST_CASE("a refusal that is lost is repeated, also when there is room again") {
  Kept pair;
  for (int i = 0; i < 2; ++i) pair.client.call(pair.session, large, 8);
  pair.rounds(20);
  pair.client.call(pair.session, large, 8);
  pair.pass = [](const PaperPacket& packet) { return packet.from == 1; };
  pair.rounds(2);
  pair.answer_all();
  pair.pass = nullptr;
  pair.rounds(40, milliseconds(1));
  REQUIRE(pair.client.answers.size() == 3);
  CHECK(pair.held.empty());
  CHECK(std::count_if(pair.client.answers.begin(), pair.client.answers.end(),
                      [](const CallAnswer& answer) { return answer.status == CallStatus::overloaded; }) == 1);
  CHECK(pair.client.endpoint.session(pair.session)->credits() == 32);
}

TEST_CASE("a handler is told when there is no room for its response, and answers otherwise") {
  Kept pair;
  for (int i = 0; i < 3; ++i) pair.client.call(pair.session, 8, large);
  pair.rounds(4);
  REQUIRE(pair.held.size() == 3);
  for (std::size_t i = 0; i < 2; ++i) CHECK(pair.server.endpoint.make_response(pair.held[i], large));
  const auto none = pair.server.endpoint.make_response(pair.held[2], large);
  REQUIRE_FALSE(none);
  CHECK(none.error().kind() == ErrorKind::resource);
  CHECK(pair.server.endpoint.make_response(pair.held[2], payload_bytes_least));  // of one packet
  for (std::size_t i = 0; i < 3; ++i)
    pair.server.endpoint.answer(pair.held[i], i < 2 ? CallStatus::answered : CallStatus::overloaded);
  pair.rounds(20);
  REQUIRE(pair.client.answers.size() == 3);
  CHECK(pair.client.answers[0].status == CallStatus::overloaded);
  CHECK(pair.client.answers[2].response.size() == large);
}

TEST_CASE("a client at rest has its server let go of what it keeps, however often that is lost") {
  Kept pair;
  for (int i = 0; i < 2; ++i) pair.client.call(pair.session, 8, large);
  pair.rounds(4);
  pair.answer_all(large);
  pair.rounds(20);
  REQUIRE(pair.client.answers.size() == 2);
  CHECK(pair.kept() == 2 * large);
  std::size_t pings = 0;
  pair.pass = [&](const PaperPacket& packet) { return packet.kind() != PacketKind::ping || pings++ > 4; };
  pair.rounds(30, milliseconds(50));
  CHECK(pair.kept() == 0);
  CHECK(pings > 4);
  const std::size_t until_then = pings;
  pair.rounds(8, milliseconds(50));
  CHECK(pings - until_then <= 1);  // only to be heard
  pair.client.call(pair.session, large, large);
  pair.rounds(20);
  pair.answer_all(large);
  pair.rounds(20);
  CHECK(pair.client.answers.size() == 3);
}

TEST_CASE("a call that is over by its client alone is let go of when its handler has answered") {
  Kept pair;
  const CallId call = pair.client.call(pair.session, large, large);
  pair.rounds(20);
  REQUIRE(pair.held.size() == 1);
  CHECK(pair.client.endpoint.cancel(call));
  pair.rounds(10, milliseconds(50));
  CHECK(pair.kept() == large);
  CHECK(pair.server.endpoint.kept(pair.held[0]).size() == large);
  pair.answer_all(large);
  CHECK(pair.kept() == 2 * large);
  pair.rounds(10, milliseconds(50));
  CHECK(pair.kept() == 0);
}

TEST_CASE("late packets of a request that was let go of begin nothing") {
  Kept pair;
  const CallId call = pair.client.call(pair.session, large, 8);
  pair.client.endpoint.step(pair.now);
  const std::vector<PaperPacket> late(pair.on_the_way.begin(), pair.on_the_way.end());
  pair.on_the_way.clear();
  CHECK(pair.client.endpoint.cancel(call));
  pair.rounds(10, milliseconds(50));
  const std::uint64_t strange = pair.server.endpoint.counts().packets_strange;
  for (const PaperPacket& packet : late) pair.on_the_way.push_back(packet);
  pair.rounds(4);
  CHECK(pair.kept() == 0);
  CHECK(pair.server.requests.empty());
  CHECK(pair.server.endpoint.counts().packets_strange == strange);
  pair.client.call(pair.session, large, 8);
  pair.rounds(20);
  CHECK(pair.held.size() == 1);
}

TEST_CASE("bounds of memory that would refuse every request are refused") {
  std::deque<PaperPacket> nothing;
  const PaperTransport transport(nothing, 1);
  CHECK(RpcOptions{}.check(transport).ok());
  CHECK(three.check(transport).ok());
  CHECK_FALSE(RpcOptions{.session_kept_bytes_max = (8u << 20) - 1}.check(transport));
  CHECK_FALSE(RpcOptions{.kept_bytes_max = (64u << 20) - 1}.check(transport));
}

}  // namespace
}  // namespace spindrift::rpc
