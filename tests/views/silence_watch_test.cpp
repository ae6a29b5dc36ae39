// The peers that are found silent, those that are found quiet, and the time when the own heartbeat is due.
#include <catch2/catch.hpp>

#include <array>

#include <spindrift/views/silence_watch.hpp>

namespace spindrift::views {
namespace {

using std::chrono::milliseconds;

constexpr Duration patience = milliseconds(100);
constexpr Time at(int ms) { return Time{} + milliseconds(1000 + ms); }

/// A member of rank 0 among three, which looks every 10 ms unless a test says otherwise.
struct Watch {
  Watch() { watch.begin_view(3, Rank(0), at(0)); }
  RankSet look(int ms) {
    watch.on_pass(at(ms));
    return watch.look(heartbeats, passed_over, at(ms));
  }
  RankSet look_until(int ms) {
    RankSet silent;
    for (; looked < ms; looked += 10) silent = look(looked + 10);
    return silent;
  }
  SilenceWatch watch{patience};
  std::array<std::uint64_t, 3> heartbeats{};
  RankSet passed_over;
  int looked = 0;
};

RankSet set_of(std::initializer_list<std::uint32_t> ranks) {
  RankSet set;
  for (const std::uint32_t rank : ranks) set.add(Rank(rank));
  return set;
}

TEST_CASE("a member whose heartbeat stands still is quiet after half of the patience, and judged at its end, twice") {
  Watch own;
  CHECK(own.look_until(40).empty());
  CHECK(own.watch.quiet().empty());
  own.heartbeats[1] = 1;
  CHECK(own.look_until(50).empty());
  CHECK(own.watch.quiet() == set_of({2}));
  CHECK(own.look_until(80).empty());
  CHECK(own.look_until(90) == set_of({2}));
  CHECK_FALSE(own.watch.confirm(Rank(2), at(90)));
  CHECK(own.watch.quiet() == set_of({2}));
  CHECK(own.look_until(100).empty());
  CHECK(own.watch.quiet() == set_of({1, 2}));
  CHECK(own.look_until(110) == set_of({2}));
  CHECK(own.watch.confirm(Rank(2), at(110)));
  CHECK(own.look_until(140).contains(Rank(1)));
  CHECK_FALSE(own.watch.confirm(Rank(1), at(140)));
}

TEST_CASE("a member that was found silent once, and then gave a sign of life or had an excuse, is found so anew") {
  Watch own;
  CHECK(own.look_until(90) == set_of({1, 2}));
  CHECK_FALSE(own.watch.confirm(Rank(1), at(90)));
  CHECK_FALSE(own.watch.confirm(Rank(2), at(90)));
  own.heartbeats[1] = 1;
  CHECK(own.look_until(110) == set_of({2}));
  CHECK(own.watch.excuse(Rank(2), at(110)) == 1);
  CHECK(own.look_until(130).empty());
  CHECK(own.look_until(140) == set_of({2}));
  CHECK_FALSE(own.watch.confirm(Rank(2), at(140)));
  CHECK(own.look_until(150).empty());
  CHECK(own.look_until(160) == set_of({2}));
  CHECK(own.watch.confirm(Rank(2), at(160)));
  CHECK(own.look_until(180).contains(Rank(2)));
  CHECK(own.look_until(190) == set_of({1, 2}));
  CHECK_FALSE(own.watch.confirm(Rank(1), at(190)));
}

TEST_CASE("a member that was away itself judges nobody's silence, and finds nobody quiet") {
  Watch own;
  CHECK(own.look_until(80).empty());
  CHECK(own.watch.quiet() == set_of({1, 2}));
  CHECK_FALSE(own.watch.just_woke());
  own.watch.on_pass(at(140));
  CHECK(own.watch.quiet().empty());
  CHECK(own.watch.look(own.heartbeats, own.passed_over, at(140)).empty());
  CHECK(own.watch.just_woke());
  own.looked = 140;
  CHECK(own.look_until(160).empty());
  CHECK(own.watch.just_woke());
  CHECK(own.look_until(170).empty());
  CHECK_FALSE(own.watch.just_woke());
  CHECK(own.look_until(220).empty());
  CHECK(own.look_until(230) == set_of({1, 2}));
}

TEST_CASE("who is passed over is neither quiet nor silent, and nothing is awaited of it") {
  Watch own;
  own.passed_over = set_of({2});
  CHECK(own.look_until(60).empty());
  CHECK(own.watch.quiet() == set_of({1}));
  CHECK(own.watch.next_verdict(own.passed_over) == at(0) + patience / 8 * 7);
  CHECK(own.watch.next_verdict(set_of({1, 2})) == never);
}

TEST_CASE("whose connection broke before the view has a quarter of the patience to come back") {
  Watch own;
  own.watch.expect_back(Rank(1), at(0));
  CHECK(own.watch.next_verdict(own.passed_over) == at(0) + patience / 8);
  CHECK(own.look_until(10).empty());
  CHECK(own.look_until(20) == set_of({1}));
  CHECK_FALSE(own.watch.confirm(Rank(1), at(20)));
  CHECK(own.look_until(30).empty());
  CHECK(own.look_until(40) == set_of({1}));
  CHECK(own.watch.confirm(Rank(1), at(40)));
}

TEST_CASE("a row that is attached, or a word of who concludes the view before, is a sign of life at the next look") {
  Watch own;
  CHECK(own.look_until(50).empty());
  own.watch.hear(Rank(1));
  CHECK(own.look_until(90) == set_of({2}));
  CHECK(own.look_until(140) == set_of({2}));
  CHECK(own.look_until(150) == set_of({1, 2}));
}

TEST_CASE("a view that begins knows nothing of the silence in the one before") {
  Watch own;
  CHECK(own.look_until(90) == set_of({1, 2}));
  CHECK_FALSE(own.watch.confirm(Rank(1), at(90)));
  own.watch.begin_view(3, Rank(0), at(90));
  CHECK(own.watch.quiet().empty());
  CHECK(own.look_until(170).empty());
  CHECK(own.look_until(180) == set_of({1, 2}));
  CHECK_FALSE(own.watch.confirm(Rank(1), at(180)));
}

TEST_CASE("a silent member that waits for its machine is judged again beat by beat, for fifteen times the patience") {
  Watch own;
  int judged = 0;
  int last = 0;
  for (; own.looked < 5000; own.looked += 10) {
    own.heartbeats[1] = static_cast<std::uint64_t>(own.looked);  // the other one is well
    const RankSet silent = own.look(own.looked + 10);
    if (silent.empty()) continue;
    REQUIRE(silent == set_of({2}));
    CHECK(own.looked + 10 - last >= (judged == 0 ? 90 : 25));
    last = own.looked + 10;
    if (own.watch.excuse(Rank(2), at(last)) == 0) break;
    ++judged;
    CHECK(own.watch.quiet().contains(Rank(2)));
  }
  CHECK(judged == 4 * 14);
  CHECK(last >= 14 * 100 + 90);
  CHECK(last < 20 * 100);  // each time it is looked at with the next pass
}

TEST_CASE("a sign of life ends the excuses of a member") {
  Watch own;
  CHECK(own.look_until(100) == set_of({1, 2}));
  CHECK(own.watch.excuse(Rank(2), at(100)) == 1);
  CHECK_FALSE(own.look_until(120).contains(Rank(2)));
  CHECK(own.look_until(130).contains(Rank(2)));
  CHECK(own.watch.excuse(Rank(2), at(130)) == 2);
  own.heartbeats[2] = 7;
  CHECK_FALSE(own.look_until(140).contains(Rank(2)));
  CHECK_FALSE(own.look_until(220).contains(Rank(2)));
  CHECK(own.look_until(230).contains(Rank(2)));
  CHECK(own.watch.excuse(Rank(2), at(240)) == 1);
}

TEST_CASE("the own heartbeat is due four times in the time of the patience") {
  SilenceWatch watch(patience);
  CHECK(watch.take_beat(at(0)));
  CHECK(watch.next_beat() == at(25));
  CHECK_FALSE(watch.take_beat(at(24)));
  CHECK(watch.take_beat(at(25)));
  CHECK_FALSE(watch.take_beat(at(49)));
}

TEST_CASE("where silence is no ground for suspicion, nobody is silent, nobody beats, and nothing is awaited") {
  SilenceWatch watch{Duration{}};
  watch.begin_view(3, Rank(0), at(0));
  watch.on_pass(at(0));
  watch.on_pass(at(100'000));
  const std::array<std::uint64_t, 3> heartbeats{};
  CHECK(watch.look(heartbeats, {}, at(100'000)).empty());
  CHECK(watch.quiet().empty());
  CHECK_FALSE(watch.just_woke());
  CHECK_FALSE(watch.take_beat(at(100'000)));
  CHECK(watch.next_beat() == never);
  CHECK(watch.next_verdict({}) == never);
}

}  // namespace
}  // namespace spindrift::views
