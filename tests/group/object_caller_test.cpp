// A client's steps: which member it asks, how often, and by which numbers.
#include <catch2/catch.hpp>

#include "played_caller.hpp"

using namespace spindrift;
using namespace spindrift::clients;
using namespace spindrift::clients::test;

TEST_CASE("a client connects when something is wanted, opens a session for updates alone, and counts its requests") {
  Played client;
  client.step();
  CHECK(client.calls.empty());
  CHECK(client.due == never);
  client.want(1, Ask::query);
  client.step();
  CHECK(client.calls == std::vector<std::string>{"a:1"});
  client.connect();
  const auto query = client.take(Ask::query);
  CHECK(query.request().of.session == ClientSessionId{});
  client.answer(query, good);
  CHECK(client.take_ended().kind == Ended::Kind::returned);
  client.want(2);
  client.step();
  client.open(9);
  auto update = client.take(Ask::update);
  CHECK(update.request().of.session == ClientSessionId{9, 5});
  CHECK(update.request().of.number == 0);
  CHECK(update.request().of.settled == 0);
  CHECK(update.request().digest == 77);
  client.answer(update, {CallerOutcome::threw, {}});
  CHECK(client.take_ended().kind == Ended::Kind::threw);
  client.want(3);
  client.step();
  update = client.take(Ask::update);
  CHECK(update.request().of.number == 1);
  CHECK(update.request().of.settled == 1);
}

TEST_CASE("what is settled is below all that is open, and no number is too far from it") {
  Played client({"a:1"}, {.under_way = 200});
  for (std::uint64_t ticket = 1; ticket <= 100; ++ticket) client.want(ticket);
  client.step();
  client.connect();
  client.open(1);
  CHECK(client.sent.size() == 64);
  auto first = client.sent.front();
  client.sent.pop_front();
  for (int i = 0; i < 10; ++i) {
    client.answer(client.sent.front(), good);
    client.sent.pop_front();
  }
  CHECK(client.sent.size() == 53);  // the first one holds up those that would be too far from it
  client.answer(first, good);
  REQUIRE(client.sent.size() == 64);
  CHECK(client.sent.back().request().of.number == 74);
  CHECK(client.sent.back().request().of.settled == 11);
  CHECK(client.due > client.now);
}

TEST_CASE("no more attempts are under way than may be") {
  Played client;
  for (std::uint64_t ticket = 1; ticket <= 20; ++ticket) client.want(ticket, Ask::query);
  client.step();
  client.connect();
  CHECK(client.sent.size() == 8);
}

TEST_CASE("a request that was under way when the connection ended is made again elsewhere by the same number") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(3);
  const auto first = client.take(Ask::update);
  client.lose();
  CHECK(client.calls == std::vector<std::string>{"a:1", "b:1"});
  client.connect();
  const auto second = client.take(Ask::update);
  CHECK(second.request().of.session == ClientSessionId{3, 5});
  CHECK(second.request().of.number == 0);
  client.answer(first, good);  // nobody waits for that any more
  CHECK(client.ended.empty());
  client.answer(second, good);
  CHECK(client.take_ended().ticket == 1);
}

TEST_CASE("a member that does not answer in time is left, and the next one has longer") {
  Played client;
  client.want(1, Ask::ordered_query);
  client.step();
  client.connect();
  client.pass(1999ms);
  CHECK(client.hung_up == 0);
  CHECK(client.due == client.now + 1ms);
  client.pass(1ms);
  CHECK(client.hung_up == 1);
  CHECK(client.calls.back() == "b:1");
  client.connect();
  client.pass(3999ms);
  CHECK(client.hung_up == 1);
  client.pass(1ms);
  CHECK(client.hung_up == 2);
  CHECK(client.calls.back() == "c:1");
}

TEST_CASE("a member that takes long for each of several queries is not left between them") {
  Played client({"a:1", "b:1"});
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) client.want(ticket, Ask::query);
  client.step();
  client.connect();
  client.pass(2s);
  REQUIRE(client.calls.back() == "b:1");
  client.sent.clear();
  client.connect();
  for (int answered = 1; answered <= 3; ++answered) {
    client.pass(2500ms);
    CHECK(client.hung_up == 1);
    REQUIRE_FALSE(client.sent.empty());
    client.answer(client.sent.front(), good);
    client.sent.pop_front();
    CHECK(client.take_ended().kind == Ended::Kind::returned);
  }
  client.want(4, Ask::query);
  client.step();
  client.pass(100ms);
  client.answer(client.take(Ask::query), good);
  static_cast<void>(client.take_ended());
  client.want(5, Ask::query);  // the member is quick by now
  client.step();
  client.pass(2s);
  CHECK(client.hung_up == 2);
}

TEST_CASE("answers from a member's replica are no word of what waits for its group") {
  Played client({"a:1", "b:1"});
  client.want(1);
  client.step();
  client.connect();
  client.open(9);
  static_cast<void>(client.take(Ask::update));
  for (std::uint64_t ticket = 2; ticket <= 4; ++ticket) {
    client.want(ticket, Ask::query);
    client.step();
    client.pass(500ms);
    client.answer(client.take(Ask::query), good);
    static_cast<void>(client.take_ended());
  }
  CHECK(client.hung_up == 0);
  client.pass(500ms);
  CHECK(client.hung_up == 1);
}

TEST_CASE("a member that does not answer is left though its request has been given up") {
  Played client;
  client.want(1, Ask::query, client.now + 100ms);
  client.step();
  client.connect();
  client.pass(100ms);
  CHECK(client.take_failure().kind() == ErrorKind::timed_out);
  client.pass(1900ms);
  CHECK(client.hung_up == 1);
}

TEST_CASE("a connection that does not come to be is given up, and after all members were called there is a pause") {
  Played client({"a:1", "b:1"});
  client.want(1, Ask::query);
  client.step();
  client.pass(5s);
  CHECK(client.calls == std::vector<std::string>{"a:1", "b:1"});
  client.lose();
  CHECK(client.calls.size() == 2);
  CHECK(client.due == client.now + 10ms);
  client.pass(10ms);
  CHECK(client.calls.size() == 3);
  client.lose();
  CHECK(client.calls.size() == 4);
  client.lose();
  CHECK(client.calls.size() == 4);
  CHECK(client.due == client.now + 20ms);
}

TEST_CASE("a client goes on at members that it was told of") {
  Played client({"a:1"});
  client.want(1, Ask::query);
  client.step();
  client.connect({"x:1", "y:1"});
  CHECK(client.line.members().all() == std::vector<std::string>{"x:1", "y:1", "a:1"});
  client.lose();
  CHECK(client.calls.back() == "x:1");
  client.lose();
  CHECK(client.calls.back() == "y:1");
}

TEST_CASE("an overloaded member is asked again after a pause, and one that has no object is left") {
  Played client;
  client.want(1, Ask::query);
  client.step();
  client.connect();
  client.answer(client.take(Ask::query), CallerOutcome::overloaded);
  CHECK(client.sent.empty());
  CHECK(client.due == client.now + 10ms);
  client.pass(10ms);
  client.answer(client.take(Ask::query), CallerOutcome::overloaded);
  client.pass(19ms);
  CHECK(client.sent.empty());
  client.pass(1ms);
  CHECK(client.hung_up == 0);
  client.answer(client.take(Ask::query), CallerOutcome::elsewhere);
  CHECK(client.hung_up == 1);
  CHECK(client.calls.back() == "b:1");
}

TEST_CASE("members that all have no object are asked again after a pause, though they say who there is") {
  Played client({"a:1", "b:1"});
  client.want(1, Ask::query);
  client.step();
  for (int member = 0; member < 2; ++member) {
    client.connect({"a:1", "b:1"});
    client.answer(client.take(Ask::query), CallerOutcome::elsewhere);
  }
  CHECK(client.calls.size() == 2);
  CHECK(client.due == client.now + 10ms);
}

TEST_CASE("what is wanted fails when no member takes a proof of the client, with each one's reason, and not before") {
  Played client({"a:1", "b:1"});
  client.want(1);
  client.want(2, Ask::query);
  client.step();
  client.lose(Error(ErrorKind::refused, "the certificate is revoked").fix("ask for another one"));
  CHECK(client.ended.empty());
  CHECK(client.calls == std::vector<std::string>{"a:1", "b:1"});
  SECTION("another one only cannot be reached") {
    client.lose();
    CHECK(client.ended.empty());
  }
  SECTION("another one does not either") {
    client.lose(Error(ErrorKind::refused, "the authority is another one"));
    REQUIRE(client.ended.size() == 2);
    client.ended.pop_back();
    const Error failure = client.take_failure();
    CHECK(failure.kind() == ErrorKind::refused);
    CHECK(failure.message() ==
          "no member lets this client in: a:1: the certificate is revoked; b:1: the authority is another one");
    CHECK(failure.fix() == "ask for another one");
    client.want(3, Ask::query);  // keys may be other ones by now
    client.pass(1s);
    CHECK(client.calls.size() == 3);
  }
  SECTION("a member that has let it in is lost") {
    client.connect();
    client.lose(Error(ErrorKind::refused, "what came is not what was sent"));
    CHECK(client.ended.empty());
  }
}

TEST_CASE("a request whose time is over before a member was given up says which one did not answer so far") {
  Played client({"a:1", "b:1"});
  client.want(1, Ask::query, client.now + 1s);
  client.step();
  const bool connects = GENERATE(false, true);
  if (connects) client.connect();
  client.pass(1s);
  const Error failure = client.take_failure();
  REQUIRE(failure.cause() != nullptr);
  CHECK(failure.cause()->message() == "a:1: no answer came so far");
  CHECK_THAT(failure.fix(), Catch::Contains(connects ? "has a majority" : "client_port"));
}

TEST_CASE("a request whose time is over has the reasons of all members, and what is to be done if that is so of all") {
  Played client({"a:1", "b:1"});
  client.want(1, Ask::query, client.now + 1s);
  client.step();
  client.lose(Error(ErrorKind::member_lost, "nobody answers there").fix("start it"));
  SECTION("a member is reached, and does not answer") {
    client.connect();
    client.pass(1s);
    const Error failure = client.take_failure();
    CHECK(failure.kind() == ErrorKind::timed_out);
    REQUIRE(failure.cause() != nullptr);
    CHECK(failure.cause()->message() == "a:1: nobody answers there");
    CHECK_THAT(failure.fix(), Catch::Contains("has a majority"));
  }
  SECTION("a member was of no use before it was good") {
    client.lose();
    client.pass(20ms);
    REQUIRE(client.connected == "a:1");
    client.connect();
    client.answer(client.take(Ask::query), good);
    CHECK(client.take_ended().kind == Ended::Kind::returned);
    client.want(2, Ask::query, client.now + 1s);
    client.step();
    client.pass(1s);
    const Error failure = client.take_failure();
    REQUIRE(failure.cause() != nullptr);
    CHECK(failure.cause()->message() == "b:1: the connection ended");
  }
  SECTION("none is reached") {
    client.lose(Error(ErrorKind::member_lost, "nobody answers there").fix("start it"));
    client.pass(1s);
    const Error failure = client.take_failure();
    CHECK(failure.kind() == ErrorKind::timed_out);
    REQUIRE(failure.cause() != nullptr);
    CHECK(failure.cause()->message() == "a:1: nobody answers there; b:1: nobody answers there");
    CHECK(failure.fix() == "start it");
  }
}
