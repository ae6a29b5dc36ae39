// Revivals of a view that has lost its majority: who may be named, and how those that are end it.
#include <spindrift/views/revivable.hpp>
#include <spindrift/views/versions.hpp>

#include "one_of_five.hpp"

namespace spindrift::views {
namespace {

constexpr Mandate::Terms waits{Mandate::Rule::majority, Mandate::OnLoss::wait};

/// One of five that waits, and has lost three of them.
struct Stranded : OneOfFive {
  explicit Stranded(std::uint32_t rank, std::uint32_t first_lost = 2) : OneOfFive(rank, {}, waits) {
    for (std::uint32_t lost = first_lost; lost < first_lost + 3; ++lost) change.suspect(Rank(lost), "it is cut off");
    step_wedged();
  }
  void accepts(std::uint32_t rank, std::uint64_t ballot) {
    std::memcpy(rows[rank].data() + table.layout(Rank(rank)).accepted(), &ballot, sizeof ballot);
  }
  [[nodiscard]] RankSet left() const { return RankSet::first(5).without(change.suspected()); }
};

}  // namespace

TEST_CASE("who waits leads nothing without a majority, and says whom it suspects") {
  Stranded member(0);
  CHECK(member.change.standing() == ViewChange::Standing::lost);
  CHECK(member.change.state() == ViewChange::State::wedged);
  CHECK(member.told() == 0b11100);
}

TEST_CASE("nobody waits for a revival where all are known to be of one host, the last of them by the latest word") {
  OneOfFive member(0, {}, waits);
  Mandate& mandate = member.change.mandate();
  for (std::uint32_t i = 0; i < 5; ++i) mandate.place(Rank(i), i != 4);
  CHECK(mandate.is_of_several_hosts());
  CHECK(mandate.on_loss() == Mandate::OnLoss::wait);
  mandate.place(Rank(4), true);
  CHECK_FALSE(mandate.is_of_several_hosts());
  for (const std::uint32_t lost : {2U, 3U, 4U}) member.change.suspect(Rank(lost), "it is cut off");
  member.step();
  CHECK(member.change.state() == ViewChange::State::stuck);
}

TEST_CASE("a view that is revived ends when all that were named have accepted that, under a ballot of its own") {
  Stranded member(0);
  member.accuses(1, 0b11100);
  member.change.mandate().hear({1, member.left()});
  member.step_wedged();
  REQUIRE(member.change.state() == ViewChange::State::accepted);
  const Decree proposal = member.proposal();
  CHECK(proposal.failed == RankSet(0b11100, 0));
  CHECK(proposal.revival == 6);  // attempt 1 of five members, rank 0
  member.step();
  CHECK(member.change.state() == ViewChange::State::accepted);
  member.accepts(1, 6);
  member.step();
  REQUIRE(member.change.state() == ViewChange::State::decided);
  CHECK(successor(member.view, member.change.decree(), [](const auto& members, const View*) {
          return std::vector{subgroup_of(members)};
        }).id == ViewId((std::uint64_t{6} << 32U) + 2));
}

TEST_CASE("a later attempt has the higher ballots, and an earlier one is heard no more") {
  Stranded member(0);
  member.accuses(1, 0b11100);
  member.change.mandate().hear({2, member.left()});
  member.change.mandate().hear({1, RankSet(0b1, 0)});
  member.step_wedged();
  CHECK(member.proposal().revival == 11);
  CHECK(member.change.mandate().next_attempt() == 3);
}

TEST_CASE("a revival gives up those that were not named, and repeats no decree that keeps them") {
  Stranded member(1, 2);  // and rank 0, which has led, is not named
  member.change.mandate().hear({1, RankSet(0b00010, 0)});
  member.step_wedged();
  REQUIRE(member.change.state() == ViewChange::State::decided);
  CHECK(member.change.decree().failed == RankSet(0b11101, 0));
}

TEST_CASE("a revival is nothing to who has a majority, is not named, or has parted from one that is") {
  OneOfFive well(0, {}, waits);
  well.change.mandate().hear({1, RankSet(0b00011, 0)});
  well.step();
  CHECK(well.change.state() == ViewChange::State::steady);
  CHECK(well.change.suspected().empty());
  for (const RankSet named : {RankSet(0b00010, 0), RankSet(0b00111, 0)}) {
    Stranded member(0);
    member.change.mandate().hear({1, named});
    member.step_wedged();
    CHECK(member.change.state() == ViewChange::State::wedged);
    CHECK(member.change.suspected() == RankSet(0b11100, 0));
    CHECK(member.change.mandate().next_attempt() == 2);  // others may have taken it up
  }
}

TEST_CASE("a word under an attempt that others have heard of is taken up under the next one, by whoever was told, too") {
  Stranded member(1);
  member.change.mandate().hear({1, RankSet(0b00111, 0)});  // rank 2, which was told, has died since, and told rank 0 nothing
  member.step_wedged();
  REQUIRE(member.change.standing() == ViewChange::Standing::lost);
  const Revival word{1, RankSet(0b00011, 0)};
  const auto again = hear_revival(member.change, Rank(1), word);
  REQUIRE(again);
  CHECK(*again == Revival{2, word.members});
  CHECK_FALSE(hear_revival(member.change, Rank(1), word));  // it comes twice
  member.step();
  CHECK(member.change.standing() == ViewChange::Standing::majority);
  CHECK(member.change.mandate().ballot_of(Rank(0)) == 11);

  Stranded told(0);
  told.accuses(1, 0b11100);
  told.change.mandate().hear(word);
  told.step_wedged();
  REQUIRE(told.proposal().revival == 6);
  CHECK_FALSE(hear_revival(told.change, Rank(0), *again));
  told.step();
  CHECK(told.proposal().revival == 11);
  told.accepts(1, 11);
  told.step();
  CHECK(told.change.state() == ViewChange::State::decided);
}

TEST_CASE("a late word changes nothing for a member that goes on, is not named, or has parted from one that is") {
  for (const RankSet named : {RankSet(0b00010, 0), RankSet(0b00111, 0)}) {
    Stranded member(0);
    member.change.mandate().hear({3, RankSet(0b11111, 0)});
    member.step_wedged();
    CHECK_FALSE(hear_revival(member.change, Rank(0), {2, named}));
    member.step();
    CHECK(member.change.standing() == ViewChange::Standing::lost);
  }
  Stranded going_on(0);
  going_on.change.mandate().hear({3, going_on.left()});
  going_on.step_wedged();
  REQUIRE(going_on.change.standing() == ViewChange::Standing::majority);
  CHECK_FALSE(hear_revival(going_on.change, Rank(0), {2, RankSet(0b00001, 0)}));
  CHECK(going_on.change.mandate().next_attempt() == 4);
}

TEST_CASE("what one that takes no part in a revival shows of it is no decree") {
  Stranded member(1, 2);
  OneOfFive leader(0);
  leader.step_wedged();
  for (const std::uint32_t gone : {2U, 3U, 4U}) leader.change.suspect(Rank(gone), "it is cut off");
  Decree decree;
  decree.failed = RankSet(0b11100, 0);
  decree.loaded = {RankSet::first(2)};
  decree.trim = {std::vector<std::uint64_t>(5)};
  decree.revival = 6;
  const auto words = encode(decree, member.view);
  std::memcpy(member.rows[0].data() + member.table.layout(Rank(0)).decree(), words.data(), words.size() * sizeof words[0]);
  member.accepts(0, 1);
  member.step();
  CHECK(member.change.suspected().contains(Rank(0)));  // a majority's ballot under a decree of a revival
}

TEST_CASE("an id behind a view tells of its revivals, and follows it at once in either case") {
  const ViewId view(7);
  CHECK(id_behind(view, 0) == ViewId(8));
  CHECK(is_right_behind(ViewId(~std::uint64_t{0}), ViewId(0)));  // what is said of the view before the first one
  for (const std::uint64_t ballot : {std::uint64_t{0}, std::uint64_t{6}, (revivals_max + 1) * member_count_max}) {
    const ViewId next = id_behind(view, ballot);
    CHECK(is_right_behind(view, next));
    CHECK(era_of(next) == ballot);
    CHECK_FALSE(is_right_behind(next, view));
    CHECK_FALSE((ballot > 0 && is_right_behind(next, ViewId(9))));
    CHECK_FALSE(is_right_behind(ViewId(6), next));
    CHECK(is_right_behind(next, id_behind(next, 9)));
  }
}

TEST_CASE("those who are left are named, and no others, and the rest is no majority that may live, or it is forced") {
  View view = five_members();
  view.roster.version = revivals_since;
  const auto asked = [&](const Revivable& about, std::vector<std::uint32_t> members, bool force = false) {
    std::vector<NodeId> nodes(members.begin(), members.end());
    return named_to_go_on(about, Rank(1), nodes, force);
  };
  const RankSet lost(0b11100, 0);
  CHECK(asked({view, lost, {}}, {0, 1}, true).value() == RankSet(0b00011, 0));
  CHECK(asked({view, lost, RankSet(0b00100, 0)}, {0, 1}).value() == RankSet(0b00011, 0));
  const auto refusal = [&](const Revivable& about, std::vector<std::uint32_t> members, bool force = false) {
    auto named = asked(about, std::move(members), force);
    REQUIRE_FALSE(named.ok());
    return named.error();
  };
  CHECK(refusal({view, lost, {}}, {0, 1}).kind() == ErrorKind::refused);
  CHECK(refusal({view, lost, {}}, {0, 1}).to_string().find("nodes 2,3,4 may live") != std::string::npos);
  CHECK(refusal({view, lost, RankSet(0b00100, 0)}, {1}).kind() == ErrorKind::refused);  // node 0 lives, too
  CHECK(refusal({view, lost, {}}, {}, true).to_string().find("node 1 is asked") != std::string::npos);
  CHECK(refusal({view, lost, {}}, {0}, true).to_string().find("node 1 is asked") != std::string::npos);
  CHECK(refusal({view, lost, {}}, {1, 1}, true).to_string().find("named twice") != std::string::npos);
  CHECK(refusal({view, lost, {}}, {1, 9}, true).to_string().find("node 9 is no member") != std::string::npos);
  CHECK(refusal({view, lost, {}}, {1, 2}, true).to_string().find("--members 0,1") != std::string::npos);
  CHECK(majority_that_may_live({view, lost, {}}, RankSet(0b00011, 0)) == lost);
  CHECK(majority_that_may_live({view, lost, RankSet(0b00100, 0)}, RankSet(0b00011, 0)).empty());
  view.roster.version = revivals_since - 1;
  CHECK(refusal({view, lost, {}}, {0, 1}, true).kind() == ErrorKind::unsupported);
}

}  // namespace spindrift::views
