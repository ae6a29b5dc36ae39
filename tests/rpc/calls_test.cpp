// Calls between two endpoints whose packets all arrive, or not.
#include <catch2/catch.hpp>

#include "paper_network.hpp"

namespace spindrift::rpc {
namespace {

using std::chrono::milliseconds;

bool is_pattern(std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != PaperNode::pattern(i)) return false;
  }
  return true;
}

TEST_CASE("a call of one packet takes two packets and comes back with its answer") {
  PaperPair pair;
  const SessionId session = pair.connected();
  CHECK(pair.client.changes == std::vector{SessionChange::connected});
  const CallId call = pair.client.call(session, 32, 64);
  pair.rounds(3);
  REQUIRE(pair.client.answers.size() == 1);
  const CallAnswer& answer = pair.client.answers[0];
  CHECK(answer.status == CallStatus::answered);
  CHECK(answer.call == call);
  CHECK(answer.tag == 1);
  CHECK(answer.response.size() == 32);
  CHECK(is_pattern(answer.response.data()));
  CHECK(is_pattern(answer.request.data()));
  CHECK(pair.log.size() == 2);
  CHECK(pair.delivered(PacketKind::request) == 1);
  CHECK(pair.delivered(PacketKind::response) == 1);
  CHECK(pair.server.endpoint.counts().handled_in_place == 1);
}

TEST_CASE("with two credits a request of three packets and a response of three take what figure 3 shows") {
  PaperPair pair({.credits = 2});
  const SessionId session = pair.connected();
  pair.client.call(session, 3 * payload_bytes_least, 3 * payload_bytes_least);
  pair.rounds(20);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(is_pattern(pair.client.answers[0].response.data()));
  CHECK(pair.delivered(PacketKind::request) == 3);
  CHECK(pair.delivered(PacketKind::credit_return) == 2);
  CHECK(pair.delivered(PacketKind::request_for_response) == 2);
  CHECK(pair.delivered(PacketKind::response) == 3);
  CHECK(pair.log.size() == 10);
  // In the figure's order: two requests, their credits, the third, its response, two requests for the rest of it, and that.
  std::vector<PacketKind> kinds;
  for (const PaperPacket& packet : pair.log) kinds.push_back(packet.kind());
  using enum PacketKind;
  CHECK(kinds == std::vector{request, request, credit_return, credit_return, request, response, request_for_response,
                             request_for_response, response, response});
}

TEST_CASE("a client never has more packets under way than credits") {
  PaperPair pair({.credits = 3});
  const SessionId session = pair.connected();
  for (int i = 0; i < 12; ++i) pair.client.call(session, 5 * payload_bytes_least, 5 * payload_bytes_least);
  for (int i = 0; i < 400 && pair.client.answers.size() < 12; ++i) {
    pair.round();
    const auto from_client = std::count_if(pair.on_the_way.begin(), pair.on_the_way.end(),
                                           [](const PaperPacket& packet) { return packet.from == 1; });
    REQUIRE(from_client <= 3);
    REQUIRE(pair.client.endpoint.session(session)->credits() <= 3);
  }
  CHECK(pair.client.answers.size() == 12);
  CHECK(pair.client.endpoint.session(session)->credits() == 3);
}

TEST_CASE("eight calls are under way, and the ninth waits for one of them") {
  PaperPair pair;
  const SessionId session = pair.connected();
  std::vector<RequestId> held;
  pair.server.serve = [&](IncomingRequest& request) { held.push_back(request.id()); };
  for (int i = 0; i < 10; ++i) pair.client.call(session, 8, 8);
  pair.rounds(4);
  REQUIRE(held.size() == 8);
  static_cast<void>(pair.server.endpoint.make_response(held[5], 0));
  pair.server.endpoint.answer(held[5]);  // out of order
  pair.rounds(4);
  CHECK(held.size() == 9);
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].tag == 6);
}

TEST_CASE("a message of 8 MiB goes there and back") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.client.call(session, message_bytes_most, message_bytes_most);
  for (int i = 0; i < 5000 && pair.client.answers.empty(); ++i) pair.round();
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].response.size() == message_bytes_most);
  CHECK(is_pattern(pair.client.answers[0].response.data()));
}

TEST_CASE("a packet that is lost is sent again from there on, and the handler is called once") {
  // Each packet of the exchange is lost in turn.
  for (std::size_t lost = 0; lost < 10; ++lost) {
    PaperPair pair({.credits = 2});
    const SessionId session = pair.connected();
    std::size_t seen = 0;
    pair.pass = [&](const PaperPacket&) { return seen++ != lost; };
    pair.client.call(session, 3 * payload_bytes_least, 3 * payload_bytes_least);
    for (int i = 0; i < 100 && pair.client.answers.empty(); ++i) pair.round(milliseconds(1));
    INFO("packet " << lost);
    REQUIRE(pair.client.answers.size() == 1);
    CHECK(is_pattern(pair.client.answers[0].response.data()));
    CHECK(pair.server.requests.size() == 1);
    CHECK(pair.client.endpoint.counts().retransmissions == 1);
    CHECK(pair.client.endpoint.session(session)->credits() == 2);
  }
}

TEST_CASE("packets that come twice or in the wrong order change nothing but the time it takes") {
  PaperPair pair({.credits = 4});
  const SessionId session = pair.connected();
  std::size_t seen = 0;
  pair.pass = [&](const PaperPacket& packet) {
    if (seen++ % 3 == 0) pair.on_the_way.push_back(packet);  // once more, later
    return true;
  };
  for (int i = 0; i < 5; ++i) pair.client.call(session, 4 * payload_bytes_least, 4 * payload_bytes_least);
  for (int i = 0; i < 400 && pair.client.answers.size() < 5; ++i) {
    std::reverse(pair.on_the_way.begin(), pair.on_the_way.end());
    pair.round(milliseconds(1));
  }
  REQUIRE(pair.client.answers.size() == 5);
  for (const CallAnswer& answer : pair.client.answers) CHECK(is_pattern(answer.response.data()));
  CHECK(pair.server.requests.size() == 5);
}

TEST_CASE("a repeated request gets the stored response, and one of an earlier call nothing") {
  PaperPair pair;
  const SessionId session = pair.connected();
  pair.client.call(session, 32, 32);
  pair.round();
  REQUIRE(pair.on_the_way.size() == 1);
  const PaperPacket request = pair.on_the_way[0];
  pair.rounds(3);
  pair.on_the_way.push_back(request);
  pair.round();
  CHECK(pair.on_the_way.size() == 1);
  CHECK(pair.on_the_way[0].kind() == PacketKind::response);
  for (int i = 0; i < 8; ++i) pair.client.call(session, 16, 16);
  pair.rounds(6);
  REQUIRE(pair.on_the_way.empty());
  pair.on_the_way.push_back(request);
  pair.round();
  CHECK(pair.on_the_way.empty());
  CHECK(pair.server.requests.size() == 9);
}

TEST_CASE("a handler answers when it likes, from a copy of the request") {
  PaperPair pair;
  const SessionId session = pair.connected();
  RequestId held;
  std::span<const std::byte> kept;
  pair.server.serve = [&](IncomingRequest& request) {
    held = request.id();
    kept = request.keep();
  };
  pair.client.call(session, 100, 3000);
  pair.rounds(20, milliseconds(3));
  CHECK(pair.client.answers.empty());
  CHECK(pair.server.requests.size() == 1);
  CHECK(is_pattern(kept));
  CHECK(pair.server.endpoint.kept(held).data() == kept.data());
  const auto room = pair.server.endpoint.make_response(held, 2000).value();
  for (std::size_t i = 0; i < room.size(); ++i) room[i] = PaperNode::pattern(i);
  CHECK(pair.server.endpoint.next_due() > pair.now);
  pair.server.endpoint.answer(held);
  CHECK(pair.server.endpoint.next_due() <= pair.now);  // it goes out with the next step, which is due
  for (int i = 0; i < 50 && pair.client.answers.empty(); ++i) pair.round();
  REQUIRE(pair.client.answers.size() == 1);
  CHECK(pair.client.answers[0].response.size() == 2000);
  CHECK(is_pattern(pair.client.answers[0].response.data()));
}

TEST_CASE("calls from within handlers of requests and of answers go out") {
  PaperPair pair;
  const SessionId session = pair.connected();
  const SessionId back = pair.server.endpoint.connect(route_to(1), pair.server).value();
  REQUIRE(pair.client.endpoint.handle(1, pair.client).ok());
  pair.rounds(4);
  RequestId held;
  pair.server.serve = [&](IncomingRequest& request) {
    held = request.id();
    pair.server.call(back, 10, 10);
  };
  pair.server.when_answered = [&](const CallAnswer& answer) {
    const auto room = pair.server.endpoint.make_response(held, answer.response.size()).value();
    std::copy(answer.response.data().begin(), answer.response.data().end(), room.begin());
    pair.server.endpoint.answer(held);
  };
  int more = 3;
  pair.client.when_answered = [&](const CallAnswer&) {
    if (more-- > 0) pair.client.call(session, 10, 10);
  };
  pair.client.call(session, 10, 10);
  pair.rounds(40);
  CHECK(pair.client.answers.size() == 4);
  for (const CallAnswer& answer : pair.client.answers) CHECK(is_pattern(answer.response.data()));
}

TEST_CASE("a call ends with the reason for which there is no response") {
  PaperPair pair;
  const SessionId session = pair.connected();
  SECTION("nobody handles its type") {
    OutgoingCall call{.type = 9, .request = pair.client.endpoint.buffer(2000), .handler = &pair.client};
    REQUIRE(pair.client.endpoint.call(session, call).ok());
    pair.rounds(10);
    REQUIRE(pair.client.answers.size() == 1);
    CHECK(pair.client.answers[0].status == CallStatus::unhandled);
  }
  SECTION("its handler fails") {
    pair.server.serve = [](IncomingRequest& request) { request.answer(CallStatus::failed); };
    pair.client.call(session, 8, 8);
    pair.rounds(10);
    REQUIRE(pair.client.answers.size() == 1);
    CHECK(pair.client.answers[0].status == CallStatus::failed);
  }
  SECTION("the response is larger than its buffer") {
    pair.client.call(session, 600, 599);
    pair.rounds(10);
    REQUIRE(pair.client.answers.size() == 1);
    CHECK(pair.client.answers[0].status == CallStatus::too_large);
    CHECK(pair.client.answers[0].response.size() == 0);
  }
  SECTION("its deadline comes, while it is under way or waits") {
    pair.server.serve = [](IncomingRequest&) {};
    for (int i = 0; i < 10; ++i) pair.client.call(session, 8, 8, pair.now + milliseconds(20));
    pair.rounds(19, milliseconds(1));
    CHECK(pair.client.answers.empty());
    pair.rounds(2, milliseconds(1));
    REQUIRE(pair.client.answers.size() == 10);
    CHECK(pair.client.answers[9].status == CallStatus::timed_out);
  }
  SECTION("it is canceled, while it is under way or waits") {
    pair.server.serve = [](IncomingRequest&) {};
    std::vector<CallId> calls;
    for (int i = 0; i < 10; ++i) calls.push_back(pair.client.call(session, 8, 8));
    pair.rounds(3);
    CHECK(pair.client.endpoint.cancel(calls[9]));
    CHECK(pair.client.endpoint.cancel(calls[3]));
    CHECK_FALSE(pair.client.endpoint.cancel(calls[3]));
    REQUIRE(pair.client.answers.size() == 2);
    CHECK(pair.client.answers[1].status == CallStatus::canceled);
    CHECK(pair.client.answers[1].tag == 4);
  }
  SECTION("its session is closed") {
    pair.server.serve = [](IncomingRequest&) {};
    for (int i = 0; i < 10; ++i) pair.client.call(session, 8, 8);
    pair.rounds(3);
    pair.client.endpoint.close(session);
    REQUIRE(pair.client.answers.size() == 10);
    CHECK(pair.client.answers[0].status == CallStatus::session_closed);
    CHECK(pair.client.changes.size() == 1);
  }
  CHECK((pair.client.endpoint.session(session) == nullptr || pair.client.endpoint.session(session)->credits() <= 32));
}

TEST_CASE("what follows a canceled call in its slot waits until the handler has let go of the request") {
  PaperPair pair;
  const SessionId session = pair.connected();
  RequestId held;
  std::span<const std::byte> kept;
  pair.server.serve = [&](IncomingRequest& request) {
    if (pair.server.requests.size() > 1) return PaperNode::echo(request);
    held = request.id();
    kept = request.keep();
  };
  const CallId first = pair.client.call(session, 700, 700);
  pair.rounds(4);
  REQUIRE(pair.client.endpoint.cancel(first));
  pair.client.call(session, 600, 600);
  pair.rounds(30, milliseconds(1));
  CHECK(pair.server.requests.size() == 1);
  CHECK(is_pattern(kept));
  pair.server.endpoint.answer(held, CallStatus::failed);
  pair.rounds(60, milliseconds(1));
  CHECK(pair.server.requests.size() == 2);
  REQUIRE(pair.client.answers.size() == 2);
  CHECK(pair.client.answers[1].status == CallStatus::answered);
  CHECK(is_pattern(pair.client.answers[1].response.data()));
}

TEST_CASE("a call that cannot be taken stays with its caller") {
  PaperPair pair({.queued_calls_max = 2});
  const SessionId session = pair.connected();
  OutgoingCall call{.type = 1, .request = MessageBuffer(8, 1024), .handler = &pair.client};
  CHECK(pair.client.endpoint.call(session, call).error().kind() == ErrorKind::bad_argument);
  CHECK_FALSE(call.request.empty());
  for (int i = 0; i < 10; ++i) pair.client.call(session, 8, 8);
  OutgoingCall one_more{.type = 1, .request = pair.client.endpoint.buffer(8), .handler = &pair.client};
  CHECK(pair.client.endpoint.call(session, one_more).error().kind() == ErrorKind::would_block);
  CHECK_FALSE(one_more.request.empty());
  pair.client.endpoint.close(session);
  CHECK(pair.client.endpoint.call(session, one_more).error().kind() == ErrorKind::group_closed);
}

TEST_CASE("the packets of a step go out in one burst") {
  PaperPair pair;
  const SessionId session = pair.connected();
  const std::size_t before = pair.client.transport.bursts;
  for (int i = 0; i < 8; ++i) pair.client.call(session, 8, 8);
  pair.round();
  CHECK(pair.client.transport.bursts == before + 1);
  CHECK(pair.on_the_way.size() == 8);
}

}  // namespace
}  // namespace spindrift::rpc
