// The answers of members at a client, and what it says of what nobody knows.
#include <catch2/catch.hpp>

#include "played_caller.hpp"

using namespace spindrift;
using namespace spindrift::clients;
using namespace spindrift::clients::test;

TEST_CASE("a request that ends without an answer says whether it may have been carried out") {
  Played client({"a:1"});
  const auto words_after = [&](const auto& before) {
    client.want(1, Ask::update, client.now + 10s);
    client.step();
    before();
    client.pass(10s);
    const Error failure = client.take_failure();
    CHECK(failure.kind() == ErrorKind::timed_out);
    CHECK_FALSE(failure.place().empty());
    CHECK_FALSE(failure.fix().empty());
    return failure.message();
  };
  const std::string may = "it may have been carried out", was_not = "it was not carried out";
  SECTION("no connection came to be") {
    CHECK(words_after([] {}).find(was_not) != std::string::npos);
  }
  SECTION("it was refused each time") {
    CHECK(words_after([&] {
            client.connect();
            client.open(1);
            client.answer(client.take(Ask::update), CallerOutcome::overloaded);
          }).find(was_not) != std::string::npos);
  }
  SECTION("it is under way") {
    CHECK(words_after([&] {
            client.connect();
            client.open(1);
            client.pass(9s);
          }).find(may) != std::string::npos);
  }
  SECTION("it was under way at a member that went") {
    CHECK(words_after([&] {
            client.connect();
            client.open(1);
            client.lose();
          }).find(may) != std::string::npos);
  }
}

TEST_CASE("a query after a place is told that the group has begun anew where the answer is of an earlier one") {
  Played client;
  const MessagePlace after{ViewId(4), SequenceNumber(7)};
  client.line.add({.ticket = 1, .ask = Ask::query_after, .method = 1, .after = after, .arguments = {}});
  client.step();
  client.connect();
  const auto asked = client.take(Ask::query_after);
  CHECK(asked.request().after == after);
  MemberAnswer answer = good;
  SECTION("of an earlier view") {
    answer.place = {ViewId(3), SequenceNumber(900)};
    client.answer(asked, answer);
    const Error failure = client.take_failure();
    CHECK(failure.kind() == ErrorKind::refused);
    CHECK(failure.message().find("begun anew") != std::string::npos);
  }
  SECTION("of that very one") {
    answer.place = after;
    client.answer(asked, answer);
    const Ended ended = client.take_ended();
    CHECK(ended.kind == Ended::Kind::returned);
    CHECK(ended.place == after);
  }
  SECTION("it threw there") {
    answer.outcome = CallerOutcome::threw;
    answer.place = {ViewId(5), SequenceNumber(0)};
    client.answer(asked, answer);
    const Ended ended = client.take_ended();
    CHECK(ended.kind == Ended::Kind::threw);
    CHECK(ended.place == answer.place);
  }
}

TEST_CASE("a request that was refused because its session is over goes on in the next one, unless it is doubtful") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(1);
  SECTION("it was asked once") {
    client.answer(client.take(Ask::update), refusal_of(ClientRefusal::over));
    CHECK(client.ended.empty());
    client.open(2);
    const auto again = client.take(Ask::update);
    CHECK(again.request().of.session == ClientSessionId{2, 5});
    client.answer(again, good);
    CHECK(client.take_ended().kind == Ended::Kind::returned);
  }
  SECTION("it was asked before, without an answer") {
    client.lose();
    client.sent.clear();
    client.connect();
    client.answer(client.take(Ask::update), refusal_of(ClientRefusal::over));
    CHECK(client.take_refusal() == ClientRefusal::over);
    client.want(2);
    client.step();
    client.open(2);
    CHECK(client.take(Ask::update).request().of.number == 0);
  }
}

TEST_CASE("of several requests in a session that is over each is judged by itself") {
  Played client;
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) client.want(ticket);
  client.step();
  client.connect();
  client.open(1);
  REQUIRE(client.sent.size() == 3);
  const auto sent = client.sent;
  client.sent.clear();
  client.answer(sent[0], good);
  CHECK(client.take_ended().ticket == 1);
  client.answer(sent[1], refusal_of(ClientRefusal::over));
  client.open(2);
  const auto again = client.take(Ask::update);
  CHECK(again.request().of.number == 0);
  client.answer(sent[2], good);  // it was carried out before the session's end
  CHECK(client.take_ended().ticket == 3);
  CHECK(again.request().of.settled == 0);
  client.answer(again, good);
  CHECK(client.take_ended().ticket == 2);
}

TEST_CASE("a request whose member ended is doubtful, and made again elsewhere") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(1);
  client.answer(client.take(Ask::update), CallerOutcome::interrupted);
  CHECK(client.calls.back() == "b:1");
  client.connect();
  client.answer(client.take(Ask::update), refusal_of(ClientRefusal::over));
  CHECK(client.take_refusal() == ClientRefusal::over);
}

TEST_CASE("refusals that are for good end a request, and those that pass do not") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(1);
  SECTION("for good") {
    const auto why = GENERATE(ClientRefusal::settled, ClientRefusal::too_large, ClientRefusal::other_method);
    client.answer(client.take(Ask::update), refusal_of(why));
    CHECK(client.take_refusal() == why);
  }
  SECTION("for a while") {
    client.answer(client.take(Ask::update), refusal_of(GENERATE(ClientRefusal::full, ClientRefusal::ahead)));
    client.pass(10ms);
    client.answer(client.take(Ask::update), good);
    CHECK(client.take_ended().kind == Ended::Kind::returned);
  }
  SECTION("of the member") {
    const auto why = GENERATE(CallerOutcome::unknown, CallerOutcome::other_methods, CallerOutcome::too_large);
    client.answer(client.take(Ask::update), why);
    CHECK(client.take_failure().message() == "so it is");
  }
}

TEST_CASE("a session that cannot be opened for good ends the updates that wait for it, and no query") {
  Played client;
  client.want(1);
  client.want(2, Ask::query);
  client.step();
  client.connect();
  client.answer(client.take(Ask::open), CallerOutcome::unsupported);
  CHECK(client.take_ended().ticket == 1);
  CHECK(client.line.open_count() == 1);
}

TEST_CASE("a member whose answer nobody can read is left") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(1);
  client.line.on_answer(client.take(Ask::update).attempt, rpc::CallStatus::answered, {}, client.now);
  client.step();
  CHECK(client.hung_up == 1);
  client.connect();
  client.pass(10ms);
  client.answer(client.take(Ask::update), refusal_of(ClientRefusal::over));
  CHECK(client.take_refusal() == ClientRefusal::over);  // for nobody knows what became of the first
}

TEST_CASE("a call that ends by itself is made again, or told of") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(1);
  const auto with = [&](rpc::CallStatus status) {
    client.line.on_answer(client.take(Ask::update).attempt, status, {}, client.now);
    client.pass(1s);
  };
  with(rpc::CallStatus::overloaded);
  with(rpc::CallStatus::failed);
  CHECK(client.ended.empty());
  SECTION("the result is too large here") {
    with(rpc::CallStatus::too_large);
    CHECK(client.take_failure().message().find("was carried out") != std::string::npos);
  }
  SECTION("nobody takes it") {
    with(rpc::CallStatus::unhandled);
    CHECK(client.take_failure().kind() == ErrorKind::unsupported);
  }
}

TEST_CASE("a client that closes says so in its session, and waits for nobody who is gone") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(4);
  const auto update = client.take(Ask::update);
  client.line.close();
  client.step();
  CHECK(client.sent.empty());
  CHECK_FALSE(client.line.closed());
  client.answer(update, good);
  CHECK(client.take_ended().ticket == 1);
  SECTION("a member takes it") {
    const auto close = client.take(Ask::close);
    CHECK(close.request().of.session == ClientSessionId{4, 5});
    client.answer(close, {CallerOutcome::returned, {}});
    CHECK(client.line.closed());
  }
  SECTION("the member goes") {
    client.lose();
    CHECK(client.line.closed());
  }
}

TEST_CASE("a client that ends says of each request whether it may have been carried out") {
  Played client;
  client.want(1);
  client.step();
  client.connect();
  client.open(1);
  client.want(2);
  client.line.end(Error(ErrorKind::group_closed, "the client is gone"));
  client.step();
  REQUIRE(client.ended.size() == 2);
  const auto words = [&](std::size_t which) { return thrown_words(client.ended[which].why); };
  CHECK(words(0).find("may have been carried out") != std::string::npos);
  CHECK(words(1).find("may have been carried out") == std::string::npos);
}
