// The poller's limit of spinning follows what it has seen.
#include <catch2/catch.hpp>

#include <spindrift/views/spin_time.hpp>

namespace spindrift::views {
namespace {

using std::chrono::microseconds;

void note(SpinTime& spin, int times, Duration length) {
  for (int i = 0; i < times; ++i) spin.note(length);
}

}  // namespace

TEST_CASE("a poller that has seen nothing spins as long as it may") {
  CHECK(SpinTime(microseconds(50), microseconds(20)).limit() == microseconds(50));
}

TEST_CASE("where news comes soon, the poller spins until it comes and not much longer") {
  SpinTime spin(microseconds(50), microseconds(20));
  note(spin, 100, microseconds(3));
  CHECK(spin.limit() >= microseconds(3));
  CHECK(spin.limit() <= microseconds(6));
}

TEST_CASE("where news comes late, the poller does not spin") {
  SpinTime spin(microseconds(50), microseconds(20));
  note(spin, 100, microseconds(2000));
  CHECK(spin.limit() == Duration{});
  SECTION("until it comes soon again") {
    note(spin, 100, microseconds(5));
    CHECK(spin.limit() >= microseconds(5));
  }
}

TEST_CASE("a wait that costs more than a wake-up is not spun through") {
  SpinTime spin(microseconds(1000), microseconds(20));
  note(spin, 100, microseconds(200));
  CHECK(spin.limit() == Duration{});
  SpinTime dear(microseconds(1000), microseconds(900));
  note(dear, 100, microseconds(200));
  CHECK(dear.limit() >= microseconds(200));
}

TEST_CASE("a few late ones among many that are soon do not end the spinning, and the other way round") {
  SpinTime spin(microseconds(50), microseconds(20));
  for (int i = 0; i < 50; ++i) {
    note(spin, 9, microseconds(2));
    note(spin, 1, microseconds(5000));
  }
  CHECK(spin.limit() >= microseconds(2));
  CHECK(spin.limit() <= microseconds(4));
  for (int i = 0; i < 50; ++i) {
    note(spin, 1, microseconds(30));
    note(spin, 9, microseconds(5000));
  }
  CHECK(spin.limit() == Duration{});
}

TEST_CASE("the poller never spins longer than it may") {
  SpinTime spin(microseconds(7), microseconds(1000));
  note(spin, 100, microseconds(6));
  CHECK(spin.limit() <= microseconds(7));
  SpinTime never_spins(Duration{}, microseconds(1000));
  CHECK(never_spins.limit() == Duration{});
  note(never_spins, 100, Duration(1));
  CHECK(never_spins.limit() == Duration{});
}

}  // namespace spindrift::views
