// Traffic counts what it claims, whatever its shape: everything that was sent, in its order, at every member, and nothing
// else.
#include <catch2/catch.hpp>

#include <numeric>

#include <spindrift/bench/traffic.hpp>

#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

namespace {

TrafficRun short_run(std::uint32_t members) {
  TrafficRun run;
  run.members = members;
  run.message_bytes = 64;
  run.window = 10;
  run.warm_up = std::chrono::milliseconds(1);
  run.watch = std::chrono::milliseconds(10);
  return run;
}

std::uint64_t upcalls(const StreamResult& stream) {
  return std::accumulate(stream.delivery_batches.begin(), stream.delivery_batches.end(), std::uint64_t{0});
}

}  // namespace

TEST_CASE("every member delivers what the threads of all members sent, of every active stream") {
  auto run = short_run(3);
  run.streams = {{.threads = 2}, {.active = false}, {}};
  run.in_turn = GENERATE(false, true);
  const std::vector<StreamResult> results = run_traffic(run);
  REQUIRE(results.size() == 3);
  for (const StreamResult& stream : results) CHECK(stream.delivered == std::vector<std::uint64_t>(3, stream.sent));
  CHECK(results[0].sent > 0);
  CHECK(results[1].sent == 0);
  CHECK(upcalls(results[1]) == 0);
  CHECK(results[2].sent > 0);
}

TEST_CASE("senders that are silent send nothing, and all that the others sent is delivered") {
  auto run = short_run(3);
  run.slow_senders = 2;
  const StreamResult silent = run_traffic(run).front();
  CHECK(silent.delivered == std::vector<std::uint64_t>(3, silent.sent));
  CHECK(silent.prompt_per_second == silent.messages_per_second);
  CHECK(silent.null_runs > 0);

  run.slow_after = std::chrono::microseconds(1);
  const StreamResult slow = run_traffic(run).front();
  CHECK(slow.delivered == std::vector<std::uint64_t>(3, slow.sent));
  CHECK(slow.prompt_per_second <= slow.messages_per_second);
}

TEST_CASE("without null-sends nothing passes a silent sender's turn") {
  auto run = short_run(3);
  run.slow_senders = 1;
  run.policy.null_sends = false;
  const StreamResult stream = run_traffic(run).front();
  CHECK(stream.null_runs == 0);
  for (const std::uint64_t delivered : stream.delivered) CHECK(delivered <= 2);  // one round, up to the silent one's turn
}

TEST_CASE("time is taken of every predicate if there is a clock, and of none without one") {
  auto run = short_run(2);
  const StreamResult untimed = run_traffic(run).front();
  for (const double nanoseconds : untimed.predicate_ns) CHECK(nanoseconds == 0);
  run.policy.clock = [] { return SystemClock().now(); };
  const StreamResult timed = run_traffic(run).front();
  for (const double nanoseconds : timed.predicate_ns) CHECK(nanoseconds > 0);
}

TEST_CASE("the policy reaches the members: batches are as small as it says") {
  auto run = short_run(2);
  run.policy = smc::Ablation::of_batches(1, 1, 1);
  const StreamResult stream = run_traffic(run).front();
  CHECK(stream.delivery_batches[0] == 2 * stream.sent);  // one upcall per message and member
  CHECK(upcalls(stream) == 2 * stream.sent);
  CHECK(stream.batches.sent == 1);
  CHECK(stream.batches.delivered == 1);
}

TEST_CASE("a slow handler delivers everything too") {
  auto run = short_run(2);
  run.streams = {{.handling = std::chrono::microseconds(5), .handling_by = GENERATE(Spending::computing, Spending::waiting)},
                 {}};
  for (const StreamResult& stream : run_traffic(run)) CHECK(stream.delivered == std::vector<std::uint64_t>(2, stream.sent));
}

TEST_CASE("a wrong setting of the user is an error of the traffic") {
  auto run = short_run(2);
  run.settings = {{"SPINDRIFT/no_such_key", "1"}};
  CHECK(error_of([&] { return run_traffic(run); }).kind() == ErrorKind::bad_config);
}
