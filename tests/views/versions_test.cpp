// Versions of the protocol: who can talk, what a first view speaks, when a group goes on to a later one, who is kept out.
#include <catch2/catch.hpp>

#include <spindrift/views/roster_agreement.hpp>

#include "desk.hpp"
#include "one_subgroup.hpp"

namespace spindrift::views {
namespace {

GroupIdentity speaking(std::uint32_t oldest, std::uint32_t newest) { return {"g", {1, 2}, {oldest, newest}}; }

/// The message that one which speaks 17 and 18 takes the hello of one for that speaks those.
std::optional<Message> heard(Versions theirs) {
  const Hello hello{NodeId(1), 101, true, ViewId(0), theirs};
  return decode(encode(group, hello, NodeId(0), {}), speaking(17, 18), shapes, NodeId(0));
}

/// A newcomer's hello, on a connection of its own.
void greet(Desk& desk, std::uint32_t node, Versions speaks) {
  desk.fabric.connected(10 + node, node);
  desk.fabric.says(10 + node, encode(group, Hello{NodeId(node), 100 + node, true, ViewId(0), speaks}, NodeId(0), {}));
}

}  // namespace

TEST_CASE("two processes talk if they have a version in common, and else say which they speak") {
  for (const Versions versions : {Versions{17, 17}, Versions{18, 25}, Versions{3, 17}, Versions{17, 18}}) {
    const auto message = heard(versions);
    REQUIRE((message && std::holds_alternative<Hello>(*message)));
    CHECK(std::get<Hello>(*message).versions == versions);
  }
  const auto later = heard({19, 20});
  REQUIRE((later && std::holds_alternative<Mismatch>(*later)));
  CHECK(std::get<Mismatch>(*later).error.message() ==
        "no version of the protocol is spoken by both: versions 17 to 18 here, and versions 19 to 20 there");
  CHECK(std::get<Mismatch>(*later).fresh_as == 101);
  CHECK_FALSE(heard({0, 17}));
  CHECK_FALSE(heard({18, 17}));
}

TEST_CASE("a hello proves the versions that it says") {
  auto bytes = encode(group, Hello{NodeId(1), 101, true, ViewId(0), {17, 18}}, NodeId(0), {});
  const std::vector<std::byte> newest{std::byte{18}, std::byte{0}, std::byte{0}, std::byte{0}};
  const auto at = std::search(bytes.begin() + 16, bytes.end(), newest.begin(), newest.end());
  REQUIRE(at != bytes.end());
  *at = std::byte{17};
  const auto message = decode(bytes, group, shapes, NodeId(0));
  CHECK((message && std::holds_alternative<Mismatch>(*message)));
}

TEST_CASE("a first view has the highest version that all of its founders speak") {
  const auto founded_with = [](std::uint32_t newest) {
    Roster file;
    file.version = 19;
    Founding founding({NodeId(0), 100}, {NodeId(0), NodeId(1)}, one_subgroup, file);
    const std::vector<Founding::Met> met{{{NodeId(1), 101}, true, {17, newest}}, {{NodeId(5), 105}, true, {17, 17}}};
    static_cast<void>(founding.step(met));
    founding.on_promise(NodeId(1), {1, 100});
    const auto view = founding.step(met).view;
    REQUIRE(view);
    return view->view.roster.version;
  };
  CHECK(founded_with(18) == 18);
  CHECK(founded_with(25) == 19);
}

TEST_CASE("a leader proposes a later version when all members speak it, and nobody takes an earlier one") {
  View view = view_of(9, {{NodeId(0), 1}, {NodeId(1), 1}});
  view.roster.version = 17;
  RosterAgreement leader(view, Rank(0));
  RosterAgreement member(view, Rank(1));
  CHECK_FALSE(leader.propose(17));
  const auto proposal = leader.propose(18);
  REQUIRE(proposal);
  CHECK(proposal->version == 18);
  CHECK(proposal->edition == view.roster.edition + 1);
  Roster earlier = *proposal;
  earlier.version = 16;
  CHECK_FALSE(member.hold(Rank(0), earlier));
  CHECK(member.hold(Rank(0), *proposal));
  CHECK(leader.may_join(NodeId(1), {17, 17}, RankSet::first(2)));
  CHECK_FALSE(leader.may_join(NodeId(1), {18, 18}, RankSet::first(2)));
  for (const std::uint32_t rank : {0U, 1U}) leader.on_held(Rank(rank), proposal->digest());
  CHECK_FALSE(leader.may_join(NodeId(1), {17, 17}, RankSet::first(2)));
  CHECK(leader.may_join(NodeId(1), {18, 18}, RankSet::first(2)));
}

TEST_CASE("what all members speak is known when all of them are here") {
  Desk desk;
  const std::vector<NodeId> members{NodeId(0), NodeId(1), NodeId(2)};
  greet(desk, 1, {17, 19});
  static_cast<void>(desk.hear());
  CHECK_FALSE(desk.links.peers().spoken_by_all(members, {17, 20}));
  greet(desk, 2, {17, 18});
  static_cast<void>(desk.hear());
  CHECK(desk.links.peers().spoken_by_all(members, {17, 20}) == 18U);
  CHECK(desk.links.peers().spoken_by_all(members, {17, 17}) == 17U);
}

TEST_CASE("a process that does not speak the group's version is refused with the reason, be it early or late") {
  Desk desk;
  desk.view.roster.version = 18;
  const bool early = GENERATE(true, false);
  if (early) {
    greet(desk, 3, {17, 17});
    CHECK(desk.hear().empty());
  }
  desk.links.begin_view(desk.view);
  if (!early) greet(desk, 3, {17, 17});
  const auto events = desk.hear();
  const auto turned_away = std::ranges::find_if(events, [](const LinkEvent& each) {
    return std::holds_alternative<LinkTurnedAway>(each);
  });
  REQUIRE(turned_away != events.end());
  CHECK(std::get<LinkTurnedAway>(*turned_away).reason ==
        "this group speaks version 18 of the protocol, and your release version 17");
  CHECK(desk.sent_to<Refusal>(13).size() == 1);
  CHECK(desk.links.candidates().empty());
}

TEST_CASE("a process that a group refuses for its version is told to run another release") {
  Desk desk({NodeId(0), NodeId(1)});
  desk.meet(11, 1, 101, false, ViewId(5));
  static_cast<void>(desk.hear());
  desk.fabric.says(11, encode(Refusal{std::string(group_speaks) + "18 of the protocol, and your release version 17"}));
  CHECK(only<LinkRefused>(desk.hear()).error.fix() ==
        "run the release of spindrift that the group's members run; an earlier one can found it anew when all have stopped");
}

}  // namespace spindrift::views
