// The bench of objects: everybody gets all of it, in as many pieces as it must have.
#include <catch2/catch.hpp>

#include <spindrift/bench/papers/object.hpp>

#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

TEST_CASE("an object is handed to every member in pieces of the largest message") {
  const GroupShape shape{2,
                         1,
                         {65536, 64, 65536},
                         {{"SUBGROUP/DEFAULT/bulk_ring_bytes", "262144", "the test"},
                          {"SUBGROUP/DEFAULT/large_message_bytes", "4096", "the test"}}};
  const auto result = run_object({shape, 1 << 20});
  CHECK(result.pieces == 17);  // a piece has a head of 32 bytes
  CHECK(result.peak_bytes.size() == 2);
  CHECK(result.seconds > 0);
}

TEST_CASE("an object in a group that cannot start is an error, not a figure") {
  const ObjectRun run{{2, 1, {65536, 64, 1024}, {{"SPINDRIFT/no_such_key", "1", "the test"}}}, 4096};
  CHECK(error_of([&] { return run_object(run); }).kind() == ErrorKind::bad_config);
}
