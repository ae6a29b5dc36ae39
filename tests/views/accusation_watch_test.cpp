// When accusations are weighed, and when answers to them are awaited no longer.
#include <catch2/catch.hpp>

#include <spindrift/views/accusation_watch.hpp>

namespace spindrift::views {
namespace {

using std::chrono::milliseconds;

constexpr Duration patience = milliseconds(100);
constexpr Time at(int ms) { return Time{} + milliseconds(1000 + ms); }

}  // namespace

TEST_CASE("accusations are weighed when it has been the same one for a quarter of the patience who goes by them") {
  AccusationWatch watch;
  CHECK_FALSE(watch.look(0, {}, at(0), patience).weighed);
  CHECK_FALSE(watch.look(1, {}, at(10), patience).weighed);
  CHECK_FALSE(watch.look(2, Rank(3), at(34), patience).weighed);
  CHECK_FALSE(watch.look(4, Rank(1), at(50), patience).weighed);
  CHECK_FALSE(watch.look(4, Rank(1), at(74), patience).weighed);
  CHECK(watch.look(4, Rank(1), at(75), patience).weighed == Rank(1));
  CHECK_FALSE(watch.look(2, {}, at(76), patience).weighed);
}

TEST_CASE("accusations that change nothing of who goes, as of members that follow a verdict, hold up nobody") {
  AccusationWatch watch;
  for (int i = 0; i < 24; ++i) CHECK_FALSE(watch.look(static_cast<std::uint64_t>(i) + 2, Rank(3), at(i), patience).weighed);
  CHECK(watch.look(30, Rank(3), at(25), patience).weighed == Rank(3));
}

TEST_CASE("accusations are stale when as many have been there for twice the patience") {
  AccusationWatch watch;
  CHECK(watch.look(2, {}, at(0), patience).stale == 0);
  CHECK(watch.look(3, {}, at(60), patience).stale == 0);
  CHECK(watch.look(3, Rank(1), at(259), patience).stale == 0);
  CHECK(watch.look(3, Rank(1), at(260), patience).stale == 3);
  CHECK(watch.look(4, Rank(1), at(300), patience).stale == 0);
}

TEST_CASE("time in which the reader was away counts for no accusation, neither to be weighed nor to be stale") {
  AccusationWatch watch;
  CHECK(watch.look(2, Rank(1), at(0), patience).stale == 0);
  const AccusationWatch::Finding at_return = watch.look(2, Rank(1), at(500), patience, true);
  CHECK_FALSE(at_return.weighed);
  CHECK(at_return.stale == 0);
  CHECK_FALSE(watch.look(2, Rank(1), at(524), patience, true).weighed);
  CHECK(watch.look(2, Rank(1), at(549), patience).weighed == Rank(1));
  CHECK(watch.look(2, Rank(1), at(723), patience).stale == 0);
  CHECK(watch.look(2, Rank(1), at(724), patience).stale == 2);
}

TEST_CASE("where silence is no ground for suspicion, accusations are weighed at once, and never stale") {
  AccusationWatch watch;
  CHECK(watch.look(3, Rank(2), at(0), Duration{}).weighed == Rank(2));
  CHECK(watch.look(3, Rank(2), at(100'000), Duration{}).stale == 0);
}

}  // namespace spindrift::views
