// Calls in another's name: which of them replaces a connection, and what an honest end has to know for that.
#include <catch2/catch.hpp>

#include <spindrift/fabric/connected/call_rules.hpp>

using namespace spindrift;
using namespace spindrift::fabric::connected;

namespace {

constexpr std::size_t connections_max = 16;
constexpr NodeId other{2};
constexpr Time now{std::chrono::hours(1)};

CallRules::Begun call(CallRules& rules) {
  rules.want(other, now);
  static_cast<void>(rules.take_actions());
  return rules.begin_call(other, 7, now).value();
}

}  // namespace

TEST_CASE(
    "a connection that is up stands against calls in its other end's name that do not know its word, which is told once") {
  CallRules rules(NodeId(3), 11, connections_max);
  const auto first = rules.on_call({other, 12, 4, 8, 0}, 9, now);
  REQUIRE(first.has_value());
  CHECK(first->greeting.word == 9);
  rules.on_confirmed(first->call->id);
  for (const std::uint64_t proof : {0ULL, 8ULL, 10ULL}) {
    CAPTURE(proof);
    CHECK_FALSE(rules.on_call({other, 12, std::uint64_t{1} << 60, 66, proof}, 10, now).has_value());
  }
  CHECK((rules.find(first->call->id)->state == PeerCall::State::up));
  const auto told = rules.take_actions();
  REQUIRE(told.size() == 1);
  CHECK((told[0].kind == CallRules::Action::Kind::doubt));
  CHECK(told[0].node == other);
  CHECK(rules.on_call({other, 12, 5, 66, 9}, 10, now).has_value());
}

TEST_CASE("a call proves the word of the last connection that was up, whatever strangers have said since") {
  CallRules rules(NodeId(3), 11, connections_max);
  const auto first = rules.on_call({other, 12, 1, 8, 0}, 9, now);
  CHECK(first->greeting.proof == 8);  // the other end has said it, and nothing was up before
  rules.on_confirmed(first->call->id);
  CHECK(rules.on_call({other, 77, 1, 66, 0}, 10, now).has_value());  // another start, or who says so
  rules.on_ended(first->call->id, now);
  for (CallId id{1}; id < CallId{10}; ++id) rules.on_ended(id, now);
  const auto again = call(rules);
  CHECK(again.greeting.proof == 8);
  CHECK(again.greeting.word == 7);
}

TEST_CASE("who has not heard the newest word proves the one before") {
  CallRules rules(NodeId(3), 11, connections_max);
  const auto first = rules.on_call({other, 12, 1, 8, 0}, 9, now);
  rules.on_confirmed(first->call->id);
  rules.on_ended(first->call->id, now);
  const auto second = call(rules);
  rules.on_answer(second.call->id, {other, 12, 1, 18, 9});  // and the other end gave its answer up
  REQUIRE((rules.find(second.call->id)->state == PeerCall::State::up));
  CHECK_FALSE(rules.on_call({other, 12, 2, 28, 0}, 10, now).has_value());
  CHECK(rules.on_call({other, 12, 2, 28, 9}, 10, now).has_value());
}
