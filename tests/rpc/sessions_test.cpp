// How sessions begin and end, and what strangers can do to them.
#include <catch2/catch.hpp>

#include "paper_network.hpp"

namespace spindrift::rpc {
namespace {

using std::chrono::milliseconds;

TEST_CASE("calls wait for the session's beginning, whose packets are repeated") {
  PaperPair pair;
  std::size_t seen = 0;
  pair.pass = [&](const PaperPacket&) { return ++seen > 3; };
  const SessionId session = pair.client.endpoint.connect(route_to(2), pair.client).value();
  pair.client.call(session, 8, 8);
  pair.rounds(100, milliseconds(1));
  CHECK(pair.client.changes == std::vector{SessionChange::connected});
  CHECK(pair.client.answers.size() == 1);
}

TEST_CASE("sessions beyond the packets that a transport has room for are refused at either side") {
  PaperPair pair({.credits = 8, .receive_packets = 24}, {.credits = 8, .receive_packets = 16});
  std::vector<SessionId> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(pair.client.endpoint.connect(route_to(2), pair.client).value());
  const auto fourth = pair.client.endpoint.connect(route_to(2), pair.client);
  REQUIRE_FALSE(fourth);
  CHECK(fourth.error().kind() == ErrorKind::resource);
  pair.client.call(sessions[2], 8, 8);
  pair.rounds(4);
  CHECK(pair.client.changes == std::vector{SessionChange::connected, SessionChange::connected, SessionChange::no_credits});
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].status == CallStatus::peer_lost);
  pair.client.endpoint.close(sessions[0]);  // which makes room at both sides
  pair.rounds(2);
  CHECK(pair.client.endpoint.connect(route_to(2), pair.client));
  pair.rounds(4);
  CHECK(pair.client.changes.back() == SessionChange::connected);
}

TEST_CASE("over one route a server takes no more sessions than its options say") {
  PaperPair pair({}, {.route_sessions_max = 2});
  std::vector<SessionId> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(pair.client.endpoint.connect(route_to(2), pair.client).value());
  pair.rounds(4);
  CHECK(pair.client.changes == std::vector{SessionChange::connected, SessionChange::connected, SessionChange::no_credits});
  CHECK(pair.server.endpoint.counts().sessions_refused >= 1);
  pair.client.endpoint.close(sessions[0]);
  pair.rounds(2);
  CHECK(pair.client.endpoint.connect(route_to(2), pair.client));
  pair.rounds(4);
  CHECK(pair.client.changes.back() == SessionChange::connected);
}

TEST_CASE("a session that ended and owes an answer keeps its place over its route") {
  PaperPair pair({}, {.route_sessions_max = 1});
  std::optional<RequestId> owed;
  pair.server.serve = [&](IncomingRequest& request) { owed = request.id(); };
  const SessionId session = pair.connected();
  pair.client.call(session, 8, 8);
  pair.rounds(2);
  REQUIRE(owed);
  pair.client.endpoint.close(session);
  pair.rounds(2);
  static_cast<void>(pair.client.endpoint.connect(route_to(2), pair.client).value());
  pair.rounds(4);
  CHECK(pair.client.changes.back() == SessionChange::no_credits);
  pair.server.endpoint.answer(*owed, CallStatus::failed);
  pair.rounds(2);
  static_cast<void>(pair.client.endpoint.connect(route_to(2), pair.client).value());
  pair.rounds(4);
  CHECK(pair.client.changes.back() == SessionChange::connected);
}

TEST_CASE("a session has the smaller of the two sides' credits") {
  PaperPair pair({.credits = 8}, {.credits = 5});
  const SessionId session = pair.connected();
  CHECK(pair.client.endpoint.session(session)->credits() == 5);
}

TEST_CASE("a server that is gone is lost after a while, and the calls with it") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.client.call(session, 8, 8);
  pair.pass = [](const PaperPacket&) { return false; };
  pair.rounds(199, milliseconds(10));
  CHECK(pair.client.answers.empty());
  pair.rounds(20, milliseconds(10));
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].status == CallStatus::peer_lost);
  CHECK(pair.client.changes.back() == SessionChange::lost);
  CHECK(pair.client.endpoint.session(session) == nullptr);
  CHECK(pair.server.endpoint.counts().sessions_lost == 1);
}

TEST_CASE("a handler that takes long does not lose the session, for both sides are heard") {
  PaperPair pair;
  const SessionId session = pair.connected();
  RequestId held;
  pair.server.serve = [&](IncomingRequest& request) { held = request.id(); };
  pair.client.call(session, 8, 8);
  pair.rounds(1000, milliseconds(10));
  CHECK(pair.client.answers.empty());
  pair.server.endpoint.answer(held, CallStatus::failed);
  pair.rounds(10, milliseconds(10));
  CHECK(pair.client.answers.size() == 1);
  CHECK(pair.client.changes.size() == 1);
}

TEST_CASE("an idle session stays, and costs some pings") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.rounds(1000, milliseconds(10));
  CHECK(pair.client.endpoint.session(session) != nullptr);
  CHECK(pair.delivered(PacketKind::ping) == pair.log.size() / 2);
  CHECK(pair.log.size() <= 2 * 10 * 2);
}

TEST_CASE("a process that was away does not judge the silence of others") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.round(std::chrono::seconds(60));
  pair.rounds(4);
  CHECK(pair.client.endpoint.session(session) != nullptr);
  CHECK(pair.server.endpoint.counts().sessions_lost == 0);
}

TEST_CASE("an end is told to the other side") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.server.serve = [](IncomingRequest&) {};
  pair.client.call(session, 8, 8);
  pair.rounds(3);
  pair.server.endpoint.end();
  pair.rounds(2);
  CHECK(pair.client.changes.back() == SessionChange::dismissed);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].status == CallStatus::peer_lost);
}

TEST_CASE("a session that is over frees its place once its handlers have answered") {
  PaperPair pair({}, {.credits = 32, .receive_packets = 32});
  const SessionId session = pair.connected();
  RequestId held;
  pair.server.serve = [&](IncomingRequest& request) { held = request.id(); };
  pair.client.call(session, 8, 8);
  pair.rounds(3);
  pair.client.endpoint.close(session);
  pair.rounds(3);
  REQUIRE(pair.client.endpoint.connect(route_to(2), pair.client));
  pair.rounds(4);
  CHECK(pair.client.changes.back() == SessionChange::no_credits);
  pair.server.endpoint.answer(held);
  pair.round();
  REQUIRE(pair.client.endpoint.connect(route_to(2), pair.client));
  pair.rounds(4);
  CHECK(pair.client.changes.back() == SessionChange::connected);
}

TEST_CASE("a packet without the session's token, or from elsewhere, is a stranger's") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.server.serve = [](IncomingRequest&) {};
  pair.client.call(session, 8, 8);
  std::uint64_t changed = 0;
  pair.pass = [&](PaperPacket& packet) {
    if (changed == 0) packet.bytes[8] ^= std::byte{1};
    if (changed == 1) packet.from = 3;
    ++changed;
    return true;
  };
  pair.rounds(2);
  CHECK(pair.server.requests.empty());
  pair.rounds(8, milliseconds(1));
  CHECK(changed >= 2);
  CHECK(pair.server.requests.empty());
  CHECK(pair.server.endpoint.counts().packets_strange == 2);
}

TEST_CASE("a restarted server does not know sessions of its predecessor") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.client.call(session, 8, 8);
  pair.round();
  const PaperPacket old = pair.on_the_way.at(0);
  PaperNode fresh(pair.on_the_way, 2, {});
  REQUIRE(fresh.endpoint.handle(1, fresh).ok());
  fresh.transport.arrived.push_back(old);
  fresh.endpoint.step(pair.now);
  CHECK(fresh.requests.empty());
  CHECK(fresh.endpoint.counts().packets_strange == 1);
}

TEST_CASE("by default no more packets are promised than the transport has room for") {
  PaperPair pair({.credits = 4096});
  std::vector<SessionId> sessions;
  for (int i = 0; i < 2; ++i) sessions.push_back(pair.client.endpoint.connect(route_to(2), pair.client).value());
  CHECK(pair.client.endpoint.connect(route_to(2), pair.client).error().kind() == ErrorKind::resource);
}

TEST_CASE("options that cannot work are refused") {
  std::deque<PaperPacket> nothing;
  const PaperTransport transport(nothing, 1);
  CHECK(RpcOptions{}.check(transport));
  CHECK_FALSE(RpcOptions{.credits = 0}.check(transport));
  CHECK_FALSE((RpcOptions{.credits = 9, .receive_packets = 8}.check(transport)));
  CHECK_FALSE(RpcOptions{.credits = 8193}.check(transport));
  CHECK(RpcOptions{.receive_packets = 8192}.check(transport));
  const auto too_many = RpcOptions{.receive_packets = 8193}.check(transport);
  REQUIRE_FALSE(too_many);
  CHECK(too_many.error().to_string().find("receive_packets = 8193, over a transport with room for 8192") !=
        std::string::npos);
  CHECK_FALSE(RpcOptions{.burst_packets = 0}.check(transport));
  CHECK_FALSE(RpcOptions{.message_bytes_max = (8u << 20) + 1}.check(transport));
  CHECK_FALSE(RpcOptions{.retransmit_after = Duration::zero()}.check(transport));
  CHECK_FALSE(RpcOptions{.silence_max = milliseconds(79)}.check(transport));
}

}  // namespace
}  // namespace spindrift::rpc
