// A member of few, and what the dead testify to it: the rows are written by the test.
#include <catch2/catch.hpp>

#include <cstring>
#include <vector>

#include <spindrift/core/log.hpp>
#include <spindrift/views/view_change.hpp>

namespace spindrift::views {
namespace {

using Word = Testimonies::Word;

View four_members() {
  View view;
  view.id = ViewId(3);
  for (std::uint32_t i = 0; i < 4; ++i) {
    view.members.emplace_back(i);
    view.incarnations.push_back(100 + i);
  }
  return view;
}

/// A member of four, whose rows it maps as far as they were shown; and those that it suspects, of which another is of the
/// same mind.
struct OneOfFew final : Counts {
  explicit OneOfFew(RankSet gone = RankSet(0b0011, 0), std::uint32_t rank = 2, RankSet shown = RankSet::first(4))
      : self(rank), other(rank) {
    REQUIRE(log::set_levels("off").ok());
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (i == rank || !shown.contains(Rank(i))) continue;
      rows[i].resize(table.layout(Rank(i)).bytes());
      table.attach_mapped(Rank(i), rows[i]);
      if (!gone.contains(Rank(i))) other = i;
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (gone.contains(Rank(i))) change.suspect(Rank(i), "it died");
    }
    if (other == self) return;
    set(other, table.layout(Rank(other)).suspected(0), gone.word(0));
    set(other, table.layout(Rank(other)).wedged(), 1);
  }
  void wedge() override {}
  [[nodiscard]] bool can_deliver(const Decree&) const override { return true; }

  void set(std::uint32_t rank, std::uint64_t offset, std::uint64_t value) {
    std::memcpy(rows[rank].data() + offset, &value, sizeof value);
  }
  void hear(Word of_0, Word of_1) {
    change.testimonies().hear(Rank(0), of_0);
    change.testimonies().hear(Rank(1), of_1);
  }
  ViewChange::State step() {
    for (int i = 0; i < 3; ++i) {
      const auto goes = change.disputes().goes_by(Rank(self), change.leader());
      (void)change.step({}, true, {{}, false, {goes, 0}});
    }
    return change.state();
  }

  View view = four_members();
  std::uint32_t self;
  std::uint32_t other;
  std::vector<RankSet> loaded;
  std::vector<std::byte> own = std::vector<std::byte>(sst::RowLayout(view, NodeId(self)).bytes());
  std::vector<std::byte> rows[4];
  sst::Table table{view, NodeId(self), own};
  RosterAgreement rosters{view, table.self()};
  ViewChange change{view, loaded, table, *this, rosters, {}};
};

}  // namespace

TEST_CASE("few wait for those that are about to be dead, and go on when all are and those that live have accepted") {
  OneOfFew member;
  member.hear(Word::announced, Word::nothing);
  CHECK(member.step() == ViewChange::State::wedged);
  CHECK(member.change.standing() == ViewChange::Standing::awaited);
  member.hear(Word::row, Word::nothing);
  CHECK(member.step() == ViewChange::State::accepted);  // its own decree, and rank 3 is still to accept it
  member.set(3, member.table.layout(Rank(3)).accepted(), 3);
  CHECK(member.step() == ViewChange::State::decided);
  CHECK(member.change.decree().failed == RankSet(0b0011, 0));
}

TEST_CASE("one suspect that may live keeps few from going on") {
  OneOfFew member;
  member.hear(Word::row, Word::none);
  CHECK(member.step() == ViewChange::State::stuck);
}

TEST_CASE("a decision of the dead stands, also of one that accused the reader, and no mere acceptance does") {
  Decree theirs;
  theirs.failed = RankSet::of(Rank(1));
  for (const bool decided : {false, true}) {
    OneOfFew member;
    const sst::RowLayout& row = member.table.layout(Rank(0));
    const auto words = encode(theirs, member.view);
    std::memcpy(member.rows[0].data() + row.decree(), words.data(), words.size() * sst::word_bytes);
    member.set(0, row.suspected(0), 0b0110);
    member.set(0, row.accepted(), 1);
    member.set(0, row.decided(), decided ? 1 : 0);
    member.hear(Word::row, Word::nothing);
    member.step();
    member.set(3, member.table.layout(Rank(3)).accepted(), 3);
    REQUIRE(member.step() == ViewChange::State::decided);
    CHECK(member.change.decree().failed == (decided ? theirs.failed : RankSet(0b0011, 0)));
  }
}

TEST_CASE("few take from nobody that the leader is dead, for they would part from it before it can testify") {
  for (const bool few : {false, true}) {
    OneOfFew member(few ? RankSet::of(Rank(1)) : RankSet());
    member.set(3, member.table.layout(Rank(3)).suspected(0), few ? 0b0011 : 0b0001);
    for (int i = 0; i < 3; ++i) (void)member.change.step({}, true, {RankSet::of(Rank(0)), false, {}});
    CHECK(member.change.suspected().contains(Rank(0)) == !few);
    if (!few) continue;
    member.change.suspect(Rank(0), "it died");
    member.hear(Word::row, Word::row);
    CHECK(member.step() == ViewChange::State::accepted);
  }
}

TEST_CASE("of a newcomer whose row never came the rows of the others tell that it decided nothing") {
  OneOfFew member(RankSet(0b1100, 0), 0, RankSet(0b0111, 0));
  member.change.testimonies().hear(Rank(2), Word::row);
  member.change.testimonies().hear(Rank(3), Word::unseen);
  CHECK(member.step() == ViewChange::State::accepted);
  member.set(1, member.table.layout(Rank(1)).accepted(), 1);
  CHECK(member.step() == ViewChange::State::decided);
  CHECK(member.change.decree().failed == RankSet(0b1100, 0));
}

TEST_CASE("a member stops where one whose row never came may have decided") {
  enum class Doubt { accepted_by_the_living, accepted_by_the_dead, they_are_many, it_comes_before_the_leader };
  const Doubt doubt = GENERATE(Doubt::accepted_by_the_living, Doubt::accepted_by_the_dead, Doubt::they_are_many,
                               Doubt::it_comes_before_the_leader);
  INFO("case " << static_cast<int>(doubt));
  const bool before = doubt == Doubt::it_comes_before_the_leader;
  const bool many = doubt == Doubt::they_are_many;
  const RankSet gone = before ? RankSet(0b0011, 0) : many ? RankSet(0b1110, 0) : RankSet(0b1100, 0);
  const RankSet unseen = before ? RankSet(0b0001, 0) : many ? gone : RankSet(0b1000, 0);
  OneOfFew member(gone, before ? 2 : 0, RankSet::first(4).without(unseen));
  for (std::uint32_t i = 0; i < 4; ++i) {
    if (gone.contains(Rank(i)))
      member.change.testimonies().hear(Rank(i), unseen.contains(Rank(i)) ? Word::unseen : Word::row);
  }
  // A ballot of the unseen one's, or what may have replaced it.
  if (doubt == Doubt::accepted_by_the_living) member.set(1, member.table.layout(Rank(1)).accepted(), 4);
  if (doubt == Doubt::accepted_by_the_dead) member.set(2, member.table.layout(Rank(2)).accepted(), 4);
  CHECK(member.step() == ViewChange::State::stuck);
}

TEST_CASE("who is too new to tell what the dead did follows who is not, and leads nobody") {
  Decree theirs;
  theirs.failed = RankSet(0b1100, 0);
  OneOfFew member(theirs.failed, 1);
  for (const std::uint32_t dead : {2U, 3U}) member.change.testimonies().hear(Rank(dead), Word::untold);
  CHECK(member.step() == ViewChange::State::wedged);
  const sst::RowLayout& row = member.table.layout(Rank(0));
  const auto words = encode(theirs, member.view);
  std::memcpy(member.rows[0].data() + row.decree(), words.data(), words.size() * sst::word_bytes);
  member.set(0, row.accepted(), 1);
  CHECK(member.step() == ViewChange::State::accepted);
  member.set(0, row.decided(), 1);
  CHECK(member.step() == ViewChange::State::decided);

  OneOfFew leader(theirs.failed, 0);
  for (const std::uint32_t dead : {2U, 3U}) leader.change.testimonies().hear(Rank(dead), Word::untold);
  CHECK(leader.step() == ViewChange::State::stuck);
}

TEST_CASE("a last row that no correct member leaves is no testimony") {
  OneOfFew member;
  member.set(0, member.table.layout(Rank(0)).decided(), 1);  // and nothing accepted
  member.hear(Word::row, Word::nothing);
  CHECK(member.step() == ViewChange::State::stuck);
}

}  // namespace spindrift::views
