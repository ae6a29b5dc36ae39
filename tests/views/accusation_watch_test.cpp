// When accusations are weighed, and when answers to them are awaited no longer.
#include <catch2/catch.hpp>

#include <spindrift/views/accusation_watch.hpp>

namespace spindrift::views {
namespace {

using std::chrono::milliseconds;

constexpr Duration patience = milliseconds(100);
constexpr Time at(int ms) { return Time{} + milliseconds(1000 + ms); }

}  // namespace

TEST_CASE("accusations are considered when none came for a quarter of the patience, and are stale after twice of it") {
  AccusationWatch watch;
  CHECK(watch.look(0, at(0), patience).considered == 0);
  CHECK(watch.look(1, at(10), patience).considered == 0);
  CHECK(watch.look(2, at(34), patience).considered == 0);
  CHECK(watch.look(2, at(58), patience).considered == 0);
  CHECK(watch.look(2, at(59), patience).considered == 2);
  CHECK(watch.look(3, at(60), patience).considered == 2);
  CHECK_FALSE(watch.look(3, at(259), patience).stale);
  CHECK(watch.look(3, at(260), patience).stale);
}

TEST_CASE("where silence is no ground for suspicion, accusations are considered at once, and never stale") {
  AccusationWatch watch;
  CHECK(watch.look(3, at(0), Duration{}).considered == 3);
  CHECK_FALSE(watch.look(3, at(100'000), Duration{}).stale);
}

}  // namespace spindrift::views
