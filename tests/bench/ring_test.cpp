// The ring bench loses nothing between its threads and its collector.
#include <catch2/catch.hpp>

#include <spindrift/bench/ring.hpp>

using namespace spindrift::bench;

TEST_CASE("everything that threads commit to the ring is collected") {
  const RingResult result = run_ring({GENERATE(1u, 2u, 4u), 100, 16, std::chrono::milliseconds(10)});
  CHECK(result.committed > 0);
  CHECK(result.collected == result.committed);
  CHECK(result.messages_per_second > 0);
}
