// KRCore's experiments with many count right: every pair of a mesh is there, every lookup is answered rightly, every read is
// made.
#include <catch2/catch.hpp>

#include <algorithm>

#include <spindrift/bench/papers/lookups.hpp>
#include <spindrift/bench/papers/mesh.hpp>
#include <spindrift/bench/papers/read_batches.hpp>

using namespace spindrift;
using namespace spindrift::bench;

TEST_CASE("workers of a mesh all reach each other, in each way") {
  for (const std::uint32_t workers : {2U, 5U}) {
    const auto times = measure_mesh({"net", workers});
    CHECK(times.looked_up > 0);
    CHECK(times.known > 0);
    CHECK(times.written > 0);
    CHECK(times.connected > 0);
  }
}

TEST_CASE("every client's lookups are answered as the table has it, by reads and by messages") {
  for (const LookupWay way : {LookupWay::reads, LookupWay::messages}) {
    const auto times = measure_lookups({"net", way, 3, 20, 16});
    CHECK(times.ns.size() == 60);
    CHECK(std::all_of(times.ns.begin(), times.ns.end(), [](std::uint64_t ns) { return ns > 0; }));
    CHECK(times.per_second > 0);
  }
}

TEST_CASE("every read of a batch brings its target's bytes, by pools of each size and by connected queue pairs") {
  for (const std::uint32_t queue_pairs : {0U, 1U, 4U}) {
    ReadBatchRun run;
    run.provider = "net";
    run.queue_pairs = queue_pairs;
    run.targets = 3;
    run.reads = 9;
    run.batches = 4;
    const auto took = measure_read_batches(run);
    CHECK(took.size() == 4);
    CHECK(std::all_of(took.begin(), took.end(), [](std::uint64_t ns) { return ns > 0; }));
  }
}

TEST_CASE("a provider that there is not is an error of each, and no figure") {
  CHECK_THROWS_AS(measure_mesh({"no such provider", 2}), Exception);
  CHECK_THROWS_AS(measure_lookups({"no such provider"}), Exception);
  ReadBatchRun run;
  run.provider = "no such provider";
  CHECK_THROWS_AS(measure_read_batches(run), Exception);
}
