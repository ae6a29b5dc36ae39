// One member's conclusions from the others' rows, word by word: the rows are written by the test.
#include <memory>

#include "one_of_five.hpp"

namespace spindrift::views {

TEST_CASE("a newcomer leads nothing before all have read each other") {
  for (const bool ready : {false, true}) {
    OneOfFive member(2, RankSet(0b11100, 0));
    if (ready) {
      for (const std::uint32_t i : {0U, 1U, 3U, 4U}) member.is_ready(i);
      member.change.set_ready();
      member.step();
    }
    for (const std::uint32_t gone : {0U, 1U}) member.change.suspect(Rank(gone), "it died");
    for (const std::uint32_t other : {3U, 4U}) member.accuses(other, 0b00011);
    member.step_wedged();
    CHECK(member.change.state() == (ready ? ViewChange::State::accepted : ViewChange::State::stuck));
  }
}

TEST_CASE("a newcomer that lost sight of most waits for whoever was there before, who may know that they died") {
  for (const bool newcomer : {false, true}) {
    OneOfFive member(4, newcomer ? RankSet(0b11000, 0) : RankSet(0b01000, 0));
    for (const std::uint32_t gone : {1U, 2U, 3U}) member.change.suspect(Rank(gone), "it has been started anew");
    member.step_wedged();
    CHECK(member.change.state() == (newcomer ? ViewChange::State::wedged : ViewChange::State::stuck));
    if (!newcomer) continue;
    member.change.suspect(Rank(0), "it stopped: it has lost the majority of its view");
    member.step_wedged();
    CHECK(member.change.state() == ViewChange::State::stuck);
  }
}

TEST_CASE("a newcomer waits for nobody who was there before where it knows a member of another host") {
  for (const bool here : {true, false}) {
    OneOfFive member(4, RankSet(0b11000, 0), {Mandate::Rule::majority, Mandate::OnLoss::wait});
    member.change.mandate().place(Rank(1), here);
    for (const std::uint32_t gone : {1U, 2U, 3U}) member.change.suspect(Rank(gone), "the process died");
    member.step_wedged();
    CHECK(member.change.state() == (here ? ViewChange::State::wedged : ViewChange::State::stuck));
  }
}

TEST_CASE("an own finding is told at once, an answer to an accusation when a majority is seen to stay") {
  OneOfFive leader(0);
  leader.change.suspect(Rank(4), "it died");
  CHECK(leader.told() == 0b10000);
  leader.change.suspect(Rank(1), "it removed this node", true);
  CHECK(leader.told() == 0b10000);
  leader.step();
  CHECK(leader.change.state() == ViewChange::State::wedged);
  CHECK(leader.told() == 0b10010);
}

TEST_CASE("a suspicion says whose finding it is: one's own, or that of the member that the other is in dispute with") {
  OneOfFive leader(0);
  leader.change.suspect(Rank(4), "it died");
  leader.accuses(2, 0b01000);
  leader.accuses(3, 0b00100);
  leader.step_wedged();
  CHECK(suspicion_of(leader.change, Rank(4))->by == Rank(0));
  REQUIRE(suspicion_of(leader.change, Rank(3)) != nullptr);
  CHECK(suspicion_of(leader.change, Rank(3))->by == Rank(2));
  CHECK(suspicion_of(leader.change, Rank(3))->reason == "it and node 2 accuse each other");
  CHECK(suspicion_of(leader.change, Rank(1)) == nullptr);
}

TEST_CASE("who slept and is given up by the majority takes nobody along") {
  OneOfFive leader(0);
  SECTION("it hears so from them") {
    for (const std::uint32_t rank : {1U, 2U, 4U}) leader.change.suspect(Rank(rank), "it removed this node", true);
  }
  SECTION("it reads so in their rows") {
    for (const std::uint32_t rank : {1U, 2U, 4U}) leader.accuses(rank, 0b00001);
  }
  leader.step();
  CHECK(leader.change.state() == ViewChange::State::stuck);
  CHECK(leader.told() == 0);
}

TEST_CASE("who has just woken says nothing of its accusers: it may not have heard them all") {
  OneOfFive leader(0);
  leader.accuses(1, 0b00001);
  leader.step({}, true);
  CHECK(leader.change.suspected().contains(Rank(1)));
  CHECK(leader.told() == 0);
  SECTION("a majority has given it up") {
    for (const std::uint32_t rank : {2U, 4U}) leader.accuses(rank, 0b00001);
    leader.step({}, true);
    CHECK(leader.change.state() == ViewChange::State::stuck);
    CHECK(leader.told() == 0);
  }
  SECTION("nobody else has") {
    for (const std::uint32_t rank : {2U, 3U, 4U}) leader.wedges(rank);
    leader.step({}, true);
    CHECK(leader.change.state() == ViewChange::State::wedged);  // it proposes nobody's removal that it has not told
    leader.step();
    CHECK(leader.told() == 0b00010);
    CHECK(leader.change.state() == ViewChange::State::accepted);
  }
}

TEST_CASE("of the leader a member is believed to whose reader the leader is quiet as well") {
  OneOfFive member(3);
  member.accuses(1, 0b00001);
  member.step();
  CHECK(member.change.suspected().empty());
  member.step(RankSet::first(1));
  CHECK(member.change.suspected() == RankSet::first(1));
  CHECK(suspicion_of(member.change, Rank(0))->by == Rank(1));
  CHECK(member.change.leader() == Rank(1));
}

TEST_CASE("a leader that slept, and accuses who noticed, is heard after those who accuse it") {
  OneOfFive member(4);
  member.accuses(0, 0b00100);  // for having removed it
  member.accuses(1, 0b00001);
  member.accuses(2, 0b00001);
  member.step(RankSet::first(1));
  CHECK(member.change.suspected() == RankSet::first(1));
  CHECK(member.change.leader() == Rank(1));
}

TEST_CASE("an accusation convicts nobody: the leader waits for the accused one's word, or finds that it is gone") {
  OneOfFive leader(0);
  leader.accuses(2, 0b00010);
  leader.step_wedged();
  CHECK(leader.told() == 0);
  CHECK(leader.change.state() == ViewChange::State::wedged);
  SECTION("the accused lives, and accuses it too") {
    leader.accuses(1, 0b00100);
    leader.step_wedged();
    CHECK(leader.told() == 0b00100);  // as many accusations: the higher rank
  }
  SECTION("the accused is gone") {
    leader.change.suspect(Rank(1), "connection lost");
    leader.step_wedged();
    CHECK(leader.told() == 0b00010);
  }
  SECTION("nothing comes of it for long") {
    leader.step({}, false, true);
    CHECK(leader.told() == 0b00100);
    CHECK(suspicion_of(leader.change, Rank(2))->reason == "it accuses node 1, which is well");
    leader.step();
  }
  CHECK(leader.change.state() == ViewChange::State::accepted);
}

TEST_CASE("of accusations that nothing came of all accusers go at once, and none that only they accuse") {
  OneOfFive leader(0);
  for (std::uint32_t i = 1; i < 5; ++i) leader.is_ready(i);
  leader.accuses(1, 0b00100);
  leader.accuses(2, 0b01000);
  leader.accuses(4, 0b01000);
  leader.step_wedged();
  CHECK(leader.change.suspected().empty());
  (void)leader.change.step({}, true, {{}, false, {{}, 2}});  // one has come since
  CHECK(leader.change.suspected().empty());
  leader.step({}, false, true);
  CHECK(leader.change.suspected() == RankSet(0b00010 | 0b00100 | 0b10000, 0));
}

TEST_CASE("who accuses many goes, not those") {
  OneOfFive leader(0);
  leader.accuses(1, 0b11000);
  leader.accuses(3, 0b00010);
  leader.accuses(4, 0b00010);
  leader.step_wedged();
  CHECK(leader.told() == 0b00010);
  CHECK(leader.change.state() == ViewChange::State::accepted);
}

TEST_CASE("accusations are weighed when all are wedged, and it is known for a while who goes") {
  OneOfFive leader(0);
  leader.accuses(1, 0b00100);
  leader.accuses(2, 0b00010);
  leader.step();
  CHECK(leader.told() == 0);
  leader.step_wedged(0);
  (void)leader.change.step({}, true, {{}, false, {}});
  CHECK(leader.told() == 0);
  (void)leader.change.step({}, true, {{}, false, {Rank(1), 0}});
  CHECK(leader.told() == 0);
  (void)leader.change.step({}, true, {{}, false, {Rank(2), 0}});
  CHECK(leader.told() == 0b00100);
}

TEST_CASE("between the leader and another every member judges, between two others the leader alone") {
  OneOfFive member(3);
  member.accuses(1, 0b00100);
  member.accuses(2, 0b00010);
  member.step_wedged();
  CHECK(member.change.suspected().empty());
  member.accuses(0, 0b00100);
  member.accuses(2, 0b00011);
  member.step_wedged();
  CHECK(member.change.suspected() == RankSet(0b00100, 0));
  CHECK(member.change.leader() == Rank(0));
}

TEST_CASE("a leader that accuses many is the one to go, for all others") {
  OneOfFive member(3);
  member.accuses(0, 0b10110);
  member.accuses(4, 0b00001);
  member.step_wedged();
  CHECK(member.change.suspected() == RankSet::first(1));
  CHECK(member.change.leader() == Rank(1));
}

TEST_CASE("who is accused gives up its accuser") {
  OneOfFive leader(0);
  leader.accuses(2, 0b10001);
  leader.step();
  CHECK(leader.told() == 0b00100);
}

TEST_CASE("a newcomer goes before a member that was there before, whomever else that accuses") {
  OneOfFive leader(0, RankSet(0b11000, 0));
  leader.accuses(4, 0b00010);
  leader.step_wedged();
  CHECK(leader.told() == 0);
  leader.accuses(1, 0b10100);
  leader.accuses(2, 0b00010);
  leader.step_wedged();
  CHECK(leader.told() == 0b10100);  // what was said of the newcomer counts against nobody
  CHECK(leader.change.state() == ViewChange::State::accepted);
}

TEST_CASE("the leader takes in a candidate when every member that stays has a connection with it") {
  OneOfFive leader(0);
  const Candidate reached{{NodeId(8), 800}, RankSet(0b11111, 0)};
  const Candidate unreached{{NodeId(9), 900}, RankSet(0b11011, 0)};
  (void)leader.change.step({unreached}, true);
  CHECK(leader.change.state() == ViewChange::State::steady);
  CHECK(leader.change.without_link(unreached) == RankSet(0b00100, 0));
  CHECK(leader.change.without_link(reached).empty());
  SECTION("another may come") {
    leader.step_wedged(3, {unreached, reached});
    CHECK(leader.proposed() == std::vector{reached.who});
  }
  SECTION("the member without a connection is suspected") {
    leader.change.suspect(Rank(2), "it died");
    leader.step_wedged(3, {unreached});
    CHECK(leader.proposed() == std::vector{unreached.who});
  }
  SECTION("it leaves") {
    leader.wants_to_leave(2);
    leader.step_wedged(3, {unreached});
    CHECK(leader.proposed() == std::vector{unreached.who});
  }
}

TEST_CASE("the last that have a state leave when they have given it to who comes in, and with nobody to come at once") {
  OneOfFive leader(0);
  leader.loaded = {RankSet(0b01100, 0)};
  const auto come = [](std::uint32_t node, std::uint64_t linked) {
    return Candidate{{NodeId(node), 100 * node}, RankSet(linked, 0)};
  };
  for (const std::uint32_t rank : {1U, 2U, 3U}) leader.wants_to_leave(rank);
  SECTION("somebody comes") {
    leader.step_wedged(3, {come(8, 0b11111), come(9, 0b11011)});
    CHECK(leader.proposed() == std::vector{come(8, 0).who});  // the other one could not reach the giver
    CHECK(leader.proposal().left == RankSet(0b01010, 0));
  }
  SECTION("who comes is the next start of the one that would give it, or cannot reach that") {
    leader.step_wedged(3, {come(2, 0b11111), come(9, 0b10001)});
    CHECK(leader.proposed() == std::vector{come(2, 0).who, come(9, 0).who});
    CHECK(leader.proposal().left == RankSet(0b01110, 0));
  }
  SECTION("nobody comes") {
    leader.step_wedged();
    CHECK(leader.proposal().left == RankSet(0b01110, 0));
  }
  SECTION("another that has it stays") {
    leader.loaded = {RankSet(0b11100, 0)};
    leader.step_wedged(3, {come(8, 0b11111)});
    CHECK(leader.proposal().left == RankSet(0b01110, 0));
  }
}

TEST_CASE("impossible words about the view are an end to their writer") {
  OneOfFive member(3);
  SECTION("it suspects itself") { member.accuses(1, 0b00010); }
  SECTION("it suspects a rank that the view has not") { member.accuses(1, 0b100000); }
  SECTION("it takes a suspicion back") {
    member.accuses(1, 0b10000);
    member.step();
    member.accuses(1, 0);
  }
  member.step();
  CHECK(member.told() == 0b00010);
}

TEST_CASE("a leader ends the view for a roster when all who stay hold it, and takes in whom it brings") {
  OneOfFive leader(0);
  for (std::uint32_t i = 0; i < 5; ++i) leader.view.roster.nodes.push_back({NodeId(i), ""});
  const RosterChange change{RosterChange::Kind::add, NodeId(7), "d:1"};
  leader.rosters.request(Rank(1), std::span(&change, 1));
  const std::vector<Candidate> candidates{{{NodeId(7), 5}, RankSet::first(5)}};
  const auto step = [&] { (void)leader.change.step(candidates, true, {}); };
  step();
  CHECK(leader.change.state() == ViewChange::State::steady);  // node 7 may not be in the group
  const Roster proposal = leader.rosters.propose(0).value();
  for (std::uint32_t i = 0; i < 4; ++i) leader.rosters.on_held(Rank(i), proposal.digest());
  step();
  CHECK(leader.change.state() == ViewChange::State::steady);
  leader.rosters.on_held(Rank(4), proposal.digest());
  leader.step_wedged(3, candidates);
  CHECK(leader.proposal().roster == proposal.digest());
  CHECK(leader.proposed() == std::vector<Join>{{NodeId(7), 5}});
}

TEST_CASE("a member that removes itself goes with that roster alone, and one that others remove goes at once") {
  const RosterChange change{RosterChange::Kind::remove, NodeId(4), ""};
  const auto struck = [&](std::uint32_t rank, Rank asker) {
    auto member = std::make_unique<OneOfFive>(rank);
    for (std::uint32_t i = 0; i < 5; ++i) member->view.roster.nodes.push_back({NodeId(i), ""});
    member->rosters.request(asker, std::span(&change, 1));
    member->wants_to_leave(4);
    return member;
  };
  const auto leader = struck(0, Rank(4));
  const Roster proposal = leader->rosters.propose(0).value();
  for (const std::uint32_t holder : {0U, 1U, 2U, 4U}) leader->rosters.on_held(Rank(holder), proposal.digest());
  leader->step();
  REQUIRE(leader->change.state() == ViewChange::State::steady);
  SECTION("when all who stay hold it") {
    leader->rosters.on_held(Rank(3), proposal.digest());
    leader->step_wedged();
    CHECK(leader->proposal().roster == proposal.digest());
    CHECK(leader->proposal().left == RankSet::of(Rank(4)));
  }
  SECTION("not when the view ends for something else before") {
    leader->change.suspect(Rank(1), "it is cut off");
    leader->step_wedged();
    REQUIRE(leader->change.state() == ViewChange::State::accepted);
    CHECK_FALSE(leader->proposal().roster);
    CHECK(leader->proposal().left.empty());
  }
  SECTION("nor under a leader that did not propose it") {
    const auto next = struck(1, Rank(1));
    REQUIRE(next->rosters.hold(Rank(0), proposal));
    next->change.suspect(Rank(0), "it is cut off");
    for (const std::uint32_t other : {2U, 3U, 4U}) next->accuses(other, 0b00001);
    next->step_wedged();
    REQUIRE(next->change.state() == ViewChange::State::accepted);
    CHECK(next->proposal().left.empty());
  }
  SECTION("removed by another, it goes at once") {
    const auto by_another = struck(0, Rank(1));
    REQUIRE(by_another->rosters.propose(0));
    by_another->step();
    by_another->step_wedged();
    CHECK(by_another->proposal().left == RankSet::of(Rank(4)));
  }
}

TEST_CASE("a follower accepts no decree that names a roster which it does not hold") {
  OneOfFive member(1);
  for (std::uint32_t i = 0; i < 5; ++i) member.view.roster.nodes.push_back({NodeId(i), ""});
  Roster next = member.view.roster;
  ++next.edition;
  next.nodes.push_back({NodeId(7), "d:1"});
  Decree decree;
  decree.loaded = {RankSet::first(5)};
  decree.trim = {std::vector<std::uint64_t>(5)};
  decree.roster = next.digest();
  SECTION("not held") {}
  SECTION("held") { REQUIRE(member.rosters.hold(Rank(0), next)); }
  const bool held = member.rosters.held(next.digest()) != nullptr;
  const std::vector<std::uint64_t> words = encode(decree, member.view);
  constexpr std::uint64_t ballot = 1;
  std::memcpy(member.rows[0].data() + member.table.layout(Rank(0)).decree(), words.data(), words.size() * sizeof words[0]);
  std::memcpy(member.rows[0].data() + member.table.layout(Rank(0)).accepted(), &ballot, sizeof ballot);
  member.wedges(0);
  for (int i = 0; i < 3; ++i) member.step();
  CHECK((member.change.state() == ViewChange::State::accepted) == held);
  CHECK(member.change.suspected().contains(Rank(0)) == !held);
}

}  // namespace spindrift::views
