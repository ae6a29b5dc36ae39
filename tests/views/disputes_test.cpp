// Which of two that accuse each other goes.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/views/disputes.hpp>

namespace spindrift::views {
namespace {

using Verdict = Disputes::Verdict;

/// A bit per rank.
RankSet bits(std::uint64_t of) { return {of, 0}; }

Disputes among(std::uint64_t trusted, std::vector<std::uint64_t> accused, std::uint64_t newcomers = 0) {
  std::vector<RankSet> sets;
  for (const std::uint64_t each : accused) sets.push_back(bits(each));
  return {bits(trusted), bits(newcomers), std::move(sets)};
}

}  // namespace

TEST_CASE("of two that accuse each other the higher rank goes, if neither accuses more") {
  const Disputes two = among(0b1111, {0, 0b0100, 0b0010, 0});
  CHECK(two.verdict(std::nullopt) == Verdict{Rank(2), Rank(1)});
  CHECK_FALSE(two.none());
  CHECK_FALSE(two.unanswered());
}

TEST_CASE("who accuses more goes, of several the one who accuses most") {
  CHECK(among(0b11111, {0, 0b11100, 0b00010, 0b00010, 0b00010}).verdict(std::nullopt) == Verdict{Rank(1), Rank(2)});
  // Accusations of those who are gone count as well: they are lost to their accuser.
  CHECK(among(0b00111, {0, 0b11100, 0b00010, 0, 0}).verdict(std::nullopt) == Verdict{Rank(1), Rank(2)});
}

TEST_CASE("what others say too does not count against a member: somebody died, or was judged before") {
  CHECK(among(0b00111, {0b11000, 0b11100, 0b00010, 0, 0}).verdict(std::nullopt) == Verdict{Rank(2), Rank(1)});
}

TEST_CASE("a newcomer goes before a member that was there before, and is weighed against another newcomer") {
  CHECK(among(0b1111, {0, 0b1101, 0b0010, 0}, 0b0100).verdict(std::nullopt) == Verdict{Rank(2), Rank(1)});
  CHECK(among(0b1111, {0, 0b1101, 0b0010, 0}, 0b0110).verdict(std::nullopt) == Verdict{Rank(1), Rank(2)});
}

TEST_CASE("with a party, only what is between it and another is weighed") {
  const Disputes four = among(0b1111, {0b0010, 0b0001, 0b1000, 0b0100});
  CHECK(four.verdict(Rank(0)) == Verdict{Rank(1), Rank(0)});
  CHECK(four.verdict(Rank(2)) == Verdict{Rank(3), Rank(2)});
  CHECK(four.verdict(std::nullopt)->goes == Rank(3));
}

TEST_CASE("the word is of the one that the party judged for, not of the party, if there is such a one") {
  // 0 leads, and has judged between 1 and 2.
  CHECK(among(0b1111, {0b0100, 0b0100, 0b0011, 0}).verdict(Rank(0)) == Verdict{Rank(2), Rank(1)});
  CHECK(among(0b1111, {0b0100, 0, 0b0001, 0}).verdict(Rank(0)) == Verdict{Rank(2), Rank(0)});
}

TEST_CASE("an accusation that is not answered is no verdict, and is open as long as both are trusted") {
  const Disputes one_way = among(0b1111, {0, 0b0100, 0, 0});
  CHECK_FALSE(one_way.verdict(std::nullopt));
  CHECK(one_way.unanswered() == Verdict{Rank(1), Rank(2)});
  CHECK_FALSE(one_way.none());
  CHECK(among(0b1011, {0, 0b0100, 0, 0}).none());
  CHECK(among(0b1101, {0, 0b0100, 0b0010, 0}).none());
}

}  // namespace spindrift::views
