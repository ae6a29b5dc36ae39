// Times of what is appended to logs: never backward, and never where a reader was told that nothing more comes.
#include <catch2/catch.hpp>

#include <spindrift/group/log_stamps.hpp>

namespace spindrift::group {
namespace {

constexpr SubgroupId first(0);
constexpr SubgroupId second(7);

}  // namespace

TEST_CASE("messages have the time of their batch until it is forgotten") {
  LogStamps stamps;
  CHECK(stamps.stamp(first, 3, 100, 0) == 100);
  CHECK(stamps.stamp(first, 5, 100, 0) == 100);
  CHECK(stamps.stamp(second, 2, 150, 0) == 150);
  CHECK(stamps.stamp(first, 6, 90, 160) == 160);  // the clock was set back
  for (const std::uint64_t version : {0U, 2U, 3U, 4U}) CHECK(stamps.of(first, version) == 100);
  CHECK(stamps.of(first, 5) == 160);
  CHECK_FALSE(stamps.of(first, 6));
  CHECK_FALSE(stamps.of(SubgroupId(1), 0));
  stamps.forget(first, 4);
  CHECK(stamps.of(first, 4) == 100);
  stamps.forget(first, 5);
  CHECK(stamps.of(first, 5) == 160);
  CHECK(stamps.of(second, 1) == 150);
  stamps.begin_anew(second, 0);
  CHECK_FALSE(stamps.of(second, 1));
}

TEST_CASE("a time is settled when the clock has passed it and nothing waits, and then nothing comes before it") {
  LogStamps stamps;
  CHECK(stamps.settled(first, 0, 100) == 100);
  CHECK(stamps.stamp(first, 2, 80, 0) == 100);  // the clock was set back
  CHECK(stamps.settled(first, 0, 200) == 100);  // both wait for the application
  CHECK(stamps.stamp(first, 4, 300, 0) == 300);
  CHECK(stamps.settled(first, 1, 400) == 100);
  CHECK(stamps.settled(first, 2, 400) == 300);
  CHECK(stamps.settled(first, 3, 400) == 300);
  CHECK(stamps.settled(first, 4, 400) == 400);
  CHECK(stamps.settled(first, 4, 350) == 400);
  CHECK(stamps.stamp(second, 1, 390, 0) == 400);
}

TEST_CASE("messages of another node have its times, but none that was settled, and wait until they are read") {
  LogStamps stamps;
  CHECK(stamps.stamp_as(first, 1, 50) == 50);
  CHECK(stamps.settled(first, 1, 100) == 100);
  CHECK(stamps.stamp_as(first, 2, 60) == 100);
  CHECK(stamps.settled(first, 1, 200) == 0);
  CHECK(stamps.settled(first, 2, 200) == 200);
}

}  // namespace spindrift::group
