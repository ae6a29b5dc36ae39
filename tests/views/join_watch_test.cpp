// The candidates that wait for long, told of once.
#include <catch2/catch.hpp>

#include <spindrift/views/join_watch.hpp>

namespace spindrift::views {
namespace {

using std::chrono::milliseconds;

constexpr Time at(int ms) { return Time{} + milliseconds(5000 + ms); }

TEST_CASE("a candidate that waits for long is told of once, with whom it waits for at that time") {
  JoinWatch watch;
  const Join who{NodeId(3), 103};
  CHECK(watch.look(std::vector<JoinWatch::Waiting>{{who, RankSet(0b110, 0)}}, at(0)).empty());
  CHECK(watch.look(std::vector<JoinWatch::Waiting>{{who, RankSet(0b110, 0)}}, at(999)).empty());
  const auto due = watch.look(std::vector<JoinWatch::Waiting>{{who, RankSet(0b100, 0)}}, at(1000));
  REQUIRE(due.size() == 1);
  CHECK(due[0].who == who);
  CHECK(due[0].without_link == RankSet(0b100, 0));
  CHECK(watch.look(std::vector<JoinWatch::Waiting>{{who, RankSet(0b100, 0)}}, at(9000)).empty());
}

TEST_CASE("a candidate that waits no more and waits again is a new one, and so is its next start") {
  JoinWatch watch;
  const std::vector<JoinWatch::Waiting> one{{{NodeId(3), 103}, RankSet(0b100, 0)}};
  const std::vector<JoinWatch::Waiting> next{{{NodeId(3), 104}, RankSet(0b100, 0)}};
  CHECK(watch.look(one, at(0)).empty());
  CHECK(watch.look({}, at(500)).empty());
  CHECK(watch.look(one, at(1200)).empty());
  CHECK(watch.look(next, at(2300)).empty());
  CHECK(watch.look(next, at(3300)).size() == 1);
}

}  // namespace
}  // namespace spindrift::views
