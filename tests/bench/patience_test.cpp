// A parent's patience with its children, at given times.
#include <catch2/catch.hpp>

#include <spindrift/bench/patience.hpp>

using spindrift::bench::Patience;

TEST_CASE("patience is over when so much time was waited, counted from look to look") {
  Patience patience(1'000, 50);
  CHECK_FALSE(patience.over(50));
  CHECK_FALSE(patience.over(600));
  CHECK_FALSE(patience.over(1'050));
  CHECK(patience.over(1'051));
}

TEST_CASE("of time in which nobody looked only a little counts") {
  Patience patience(3 * Patience::look_ns_max, 0);
  CHECK_FALSE(patience.over(1'000'000'000'000));
  CHECK_FALSE(patience.over(2'000'000'000'000));
  CHECK_FALSE(patience.over(3'000'000'000'000));
  CHECK(patience.over(3'000'000'000'001));
}
