// Requests of clients at a member, without a network: whatever somebody sends, no member has to accuse this one of it.
#include <catch2/catch.hpp>

#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <spindrift/group/client_requests.hpp>

#include "replicated_fixture.hpp"
#include "till.hpp"

using namespace spindrift;
using namespace spindrift::clients;
using group::TakenRequest;

namespace {

/// The objects of one member of a played group.
class AskedMember final : public group::OfferedObjects {
 public:
  [[nodiscard]] Found find(std::string_view subgroup) const override {
    if (subgroup != "orders") return {};
    return {true, offered ? &played.core(0).relayed() : nullptr};
  }
  [[nodiscard]] std::vector<std::string> members(std::string_view) const override { return {"10.0.0.1:7600"}; }
  [[nodiscard]] std::string name() const override { return "node 0"; }

  TakenRequest ask(const CallerRequest& request) {
    std::vector<std::byte> bytes(request_bytes(request));
    encode(request, bytes);
    return group::take_request(*this, {rights, client, is_member}, bytes, [this] {
      ++told;
      if (played.core(0).relayed().has(expected)) ++told_at_place;
    });
  }
  CallerOutcome outcome(const CallerRequest& request) {
    const TakenRequest taken = ask(request);
    REQUIRE(taken.answer);
    return taken.answer->outcome;
  }
  /// The answer, once all is delivered.
  MemberAnswer answer(const CallerRequest& request) {
    const TakenRequest taken = ask(request);
    if (taken.answer) return *taken.answer;
    if (taken.query) return taken.query->read();
    const int before = told;
    played.deliver_all();
    REQUIRE(told == before + 1);
    return taken.call->answer();
  }
  ClientSessionId open() {
    const MemberAnswer opened = answer(request(Ask::open));
    REQUIRE(opened.outcome == CallerOutcome::returned);
    return *decode_session(opened.bytes);
  }

  static CallerRequest request(Ask ask) {
    CallerRequest request;
    request.ask = ask;
    request.subgroup = "orders";
    request.arguments = {};
    if (ask != Ask::members) request.digest = replicated::DigestOf<Till::Methods>::value();
    return request;
  }
  CallerRequest pay(const ClientSessionId& session, std::uint64_t number, const std::string& who) {
    CallerRequest pays = request(Ask::update);
    pays.of = {session, number, 0};
    arguments.clear();
    replicated::put(arguments, who);
    pays.arguments = arguments;
    return pays;
  }
  CallerRequest calls(Ask ask, const std::string& who) {
    CallerRequest query = pay({}, 0, who);
    query.ask = ask;
    query.of = {};
    query.method = 1;
    return query;
  }

  mutable ReplicaFixture<Till> played{3};
  bool offered = true;
  config::ClientRights rights;
  std::string client = "teller";
  bool is_member = false;
  int told = 0;
  MessagePlace expected{ViewId(1000), SequenceNumber(0)};
  int told_at_place = 0;  // while the replica had applied what is expected
  std::vector<std::byte> arguments;
};

std::uint64_t number_in(const MemberAnswer& answer) {
  std::uint64_t number = 0;
  REQUIRE(answer.outcome == CallerOutcome::returned);
  replicated::take(answer.bytes, number);
  return number;
}

}  // namespace

TEST_CASE("a request becomes a call in the order, and its answer the bytes that the object keeps") {
  AskedMember member;
  const ClientSessionId session = member.open();
  CHECK(number_in(member.answer(member.pay(session, 0, "Ann"))) == 1);
  CHECK(number_in(member.answer(member.pay(session, 1, "Ann"))) == 2);
  CHECK(number_in(member.answer(member.pay(session, 0, "Ann"))) == 1);
  CHECK(number_in(member.answer(member.calls(Ask::query, "Ann"))) == 2);
  CHECK(number_in(member.answer(member.calls(Ask::ordered_query, "Ann"))) == 2);
  const MemberAnswer threw = member.answer(member.pay(session, 2, ""));
  CHECK(threw.outcome == CallerOutcome::threw);
  CHECK_THROWS_AS(std::rethrow_exception(replicated::take_exception(threw.bytes)), std::invalid_argument);
  CallerRequest close = AskedMember::request(Ask::close);
  close.of.session = session;
  CHECK(member.answer(close).outcome == CallerOutcome::returned);
  const MemberAnswer over = member.answer(member.pay(session, 3, "Ann"));
  CHECK(over.outcome == CallerOutcome::refused);
  CHECK(over.bytes == refusal_of(ClientRefusal::over).bytes);
  const MemberAnswer addresses = member.answer(AskedMember::request(Ask::members));
  CHECK(*decode_members(addresses.bytes) == std::vector<std::string>{"10.0.0.1:7600"});
  CHECK(member.played.fault_count() == 0);
}

TEST_CASE("a client does what its rights allow, and is not told whether there is what it has no right to") {
  AskedMember member;
  const ClientSessionId session = member.open();
  member.rights = *config::ClientRights::parse("teller@orders:query");
  CHECK(number_in(member.answer(member.calls(Ask::query, "Ann"))) == 0);
  CHECK(number_in(member.answer(member.calls(Ask::ordered_query, "Ann"))) == 0);
  CHECK(number_in(member.answer(member.calls(Ask::query_after, "Ann"))) == 0);
  CHECK(member.answer(AskedMember::request(Ask::members)).outcome == CallerOutcome::returned);
  CHECK(member.outcome(AskedMember::request(Ask::open)) == CallerOutcome::forbidden);
  CallerRequest request = member.pay(session, 0, "Ann");
  const auto refused = member.ask(request).answer;
  REQUIRE(refused);
  CHECK(refused->outcome == CallerOutcome::forbidden);
  CHECK(words_of(*refused) == "node 0: client teller has no right to update in subgroup orders");
  request.subgroup = "nowhere";
  CHECK(member.outcome(request) == CallerOutcome::forbidden);
  member.client = "other";
  CHECK(member.outcome(member.calls(Ask::query, "Ann")) == CallerOutcome::forbidden);
  CHECK(member.outcome(AskedMember::request(Ask::members)) == CallerOutcome::forbidden);
  member.is_member = true;
  CHECK(number_in(member.answer(member.pay(session, 0, "Ann"))) == 1);
}

TEST_CASE("a query after a place is read where the replica is there, and goes into the order elsewhere") {
  AskedMember member;
  const ClientSessionId session = member.open();
  const MemberAnswer paid = member.answer(member.pay(session, 0, "Ann"));
  CHECK(paid.place != MessagePlace{});
  CallerRequest query = member.calls(Ask::query_after, "Ann");
  SECTION("it has applied that message") {
    query.after = paid.place;
    const TakenRequest taken = member.ask(query);
    REQUIRE(taken.query);
    const MemberAnswer read = taken.query->read();
    CHECK(number_in(read) == 1);
    CHECK(read.place >= paid.place);
  }
  SECTION("it has not applied the next one, which is on its way") {
    const TakenRequest next = member.ask(member.pay(session, 1, "Ann"));
    REQUIRE(next.call);
    query = member.calls(Ask::query_after, "Ann");
    CHECK(member.ask(query).query);
    query.after = {paid.place.view, SequenceNumber(paid.place.sequence.value() + 1)};
    const TakenRequest taken = member.ask(query);
    REQUIRE(taken.call);
    member.played.deliver_all();
    CHECK(next.call->answer().place == query.after);
    const MemberAnswer read = taken.call->answer();
    CHECK(number_in(read) == 2);
    CHECK(read.place > query.after);
  }
  SECTION("it is of a later view") {
    query.after = {ViewId(paid.place.view.value() + 1), SequenceNumber(0)};
    CHECK(member.ask(query).call);
  }
  CHECK(member.played.fault_count() == 0);
}

TEST_CASE("a request that is made again is answered at a place where it has been carried out") {
  AskedMember member;
  const ClientSessionId session = member.open();
  const MemberAnswer first = member.answer(member.pay(session, 0, "Ann"));
  const MemberAnswer again = member.answer(member.pay(session, 0, "Ann"));
  CHECK(number_in(again) == 1);
  CHECK(again.place > first.place);
  member.expected = {again.place.view, SequenceNumber(again.place.sequence.value() + 1)};
  CHECK(member.answer(member.pay(session, 1, "Ann")).place == member.expected);
  CHECK(member.told_at_place == 1);  // so its client may ask for that place at once
  CHECK(member.answer(member.calls(Ask::ordered_query, "Ann")).place > member.expected);
}

TEST_CASE("what cannot be asked is answered at once, and nothing of it reaches the group") {
  AskedMember member;
  const ClientSessionId session = member.open();
  CallerRequest request = member.pay(session, 0, "Ann");
  SECTION("another subgroup") {
    request.subgroup = "nowhere";
    CHECK(member.outcome(request) == CallerOutcome::unknown);
  }
  SECTION("an object that is not offered") {
    member.offered = false;
    CHECK(member.outcome(request) == CallerOutcome::elsewhere);
  }
  SECTION("other methods") {
    request.digest += 1;
    CHECK(member.outcome(request) == CallerOutcome::other_methods);
    request = member.calls(Ask::query, "Ann");
    request.digest += 1;
    CHECK(member.outcome(request) == CallerOutcome::other_methods);
  }
  SECTION("a method that is not in the list") {
    request.method = 2;
    CHECK(member.outcome(request) == CallerOutcome::bad_request);
    request.method = 0xffffffff;
    CHECK(member.outcome(request) == CallerOutcome::bad_request);
  }
  SECTION("an update of what changes nothing, and a query that would change something") {
    request.method = 1;
    CHECK(member.outcome(request) == CallerOutcome::bad_request);
    for (const Ask ask : {Ask::query, Ask::ordered_query}) {
      CallerRequest query = member.calls(ask, "Ann");
      query.method = 0;
      CHECK(member.outcome(query) == CallerOutcome::bad_request);
    }
  }
  SECTION("arguments that cannot be read") {
    std::vector<std::byte> wrong = member.arguments;
    wrong.push_back({});
    request.arguments = wrong;
    CHECK(member.outcome(request) == CallerOutcome::bad_request);
    request.arguments = std::span(wrong).first(3);
    CHECK(member.outcome(request) == CallerOutcome::bad_request);
    CallerRequest query = member.calls(Ask::query, "Ann");
    query.arguments = {};
    CHECK(member.outcome(query) == CallerOutcome::bad_request);
  }
  SECTION("arguments that are too large") {
    CHECK(member.outcome(member.pay(session, 0, std::string(5000, 'x'))) == CallerOutcome::too_large);
  }
  SECTION("a request that is settled by its own words") {
    request.of.settled = 1;
    CHECK(member.outcome(request) == CallerOutcome::refused);
  }
  SECTION("while the window is full") {
    member.played.window_full = true;
    CHECK(member.outcome(request) == CallerOutcome::overloaded);
  }
  SECTION("while the group speaks an earlier version") {
    member.played.spoken -= 1;
    CHECK(member.outcome(AskedMember::request(Ask::open)) == CallerOutcome::unsupported);
  }
  SECTION("bytes that are no request") {
    const std::vector<std::byte> none(100);
    const auto taken = group::take_request(member, {member.rights, member.client, false}, none, [] {});
    CHECK(taken.answer->outcome == CallerOutcome::bad_request);
  }
  CHECK(member.played.ordered().empty());
  CHECK(member.played.fault_count() == 0);
  member.played.deliver_all();
  CHECK(member.told == 1);  // of the session
}

TEST_CASE("a member that has no state, or is not in the subgroup, sends clients elsewhere") {
  AskedMember member;
  const ClientSessionId session = member.open();
  const NodeId others[] = {NodeId(1), NodeId(2)}, all[] = {NodeId(0), NodeId(1), NodeId(2)};
  const bool loading = GENERATE(false, true);
  member.played.begin_view(0, loading ? std::span<const NodeId>(all) : others, loading);
  CHECK(member.outcome(member.pay(session, 0, "Ann")) == CallerOutcome::elsewhere);
  CHECK(member.outcome(member.calls(Ask::query, "Ann")) == CallerOutcome::elsewhere);
  CHECK(member.played.ordered().empty());
}

TEST_CASE("a call whose group ends tells that it may have been carried out, and what comes later goes elsewhere") {
  AskedMember member;
  const ClientSessionId session = member.open();
  const TakenRequest taken = member.ask(member.pay(session, 0, "Ann"));
  REQUIRE(taken.call);
  member.played.end(0, Error(ErrorKind::no_majority, "the majority is gone"));
  CHECK(member.told == 2);
  CHECK(taken.call->answer().outcome == CallerOutcome::interrupted);
  CHECK(member.outcome(member.pay(session, 1, "Ann")) == CallerOutcome::elsewhere);
}

TEST_CASE("in a logged subgroup an update is answered when it is durable, and a query before") {
  AskedMember member;
  member.played.logged = true;
  const TakenRequest opened = member.ask(AskedMember::request(Ask::open));
  member.played.deliver_all();
  CHECK(member.told == 0);
  member.played.core(0).on_durable(1);
  CHECK(member.told == 1);
  CHECK(opened.call->answer().outcome == CallerOutcome::returned);
  const TakenRequest query = member.ask(member.calls(Ask::ordered_query, "Ann"));
  member.played.deliver_all();
  CHECK(member.told == 2);
}
