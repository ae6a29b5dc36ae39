// Test cases of which one passes, one is skipped, and others fail though they are skipped, for tests/house/skip_test.py.
#include <catch2/catch.hpp>

#include "../skip.hpp"

TEST_CASE("passes") { CHECK(true); }

TEST_CASE("is skipped") { return spindrift::test::skip("planted"); }

TEST_CASE("is skipped once and fails once") {
  if (GENERATE(true, false)) return spindrift::test::skip("planted");
  CHECK(false);
}

TEST_CASE("fails as often as means skipped") {
  for (int i = 0; i < spindrift::test::skipped_exit_code; ++i) CHECK(false);
}
