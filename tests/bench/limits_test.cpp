// The limits count what they claim, with every number of senders; how fast they are is no test's business.
#include <catch2/catch.hpp>

#include <csignal>

#include <unistd.h>

#include <spindrift/bench/limits.hpp>
#include <spindrift/bench/processes.hpp>
#include <spindrift/bench/report.hpp>
#include <spindrift/bench/sealing.hpp>

#include "../skip.hpp"
#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

TEST_CASE("the bare multicast delivers everything with any number of senders, more messages than windows or fewer") {
  const auto senders = GENERATE(1u, 2u, 3u);
  const auto messages = GENERATE(1u, 7u, 3000u);
  const auto touch = GENERATE(true, false);
  const auto apart = GENERATE(true, false);
  const auto seconds = bare_multicast_seconds({3, senders, 100, 10, touch, messages, apart});
  CHECK(seconds > 0);
}

TEST_CASE("the bare multicast's latencies are one per message") {
  const auto latencies_ns = bare_multicast_latencies_ns(2, 64, 50);
  REQUIRE(latencies_ns.size() == 50);
  for (const std::uint64_t latency : latencies_ns) CHECK(latency > 0);
}

TEST_CASE("wake-ups from rest are one each") {
  if (provenance().cpus < 2) return spindrift::test::skip("this machine has one CPU");
  const auto latencies_ns = futex_latencies_ns(20, std::chrono::milliseconds(1));
  REQUIRE(latencies_ns.size() == 20);
  for (const std::uint64_t latency : latencies_ns) CHECK(latency > 0);
}

TEST_CASE("the ring of one writer and one reader ends and tells a rate") {
  if (provenance().cpus < 2) return spindrift::test::skip("this machine has one CPU");
  CHECK(ring_messages_per_second(GENERATE(1u, 1024u, 10240u), std::chrono::milliseconds(5)) > 0);
}

TEST_CASE("records are sealed and opened by any number of processes") {
  CHECK(sealing_bytes_per_second(GENERATE(1u, 3u), std::chrono::milliseconds(5)) > 0);
}

TEST_CASE("processes run one body each and share memory") {
  auto memory = SharedMemory::make(4096);
  const auto words = memory.make_objects<SharedWord>(0, 3);
  run_processes(3, std::chrono::seconds(30), [&](std::uint32_t self) { words[self].value = self + 1; });
  for (std::uint64_t self = 0; self < 3; ++self) CHECK(words[self].value == self + 1);
}

TEST_CASE("what a body throws ends the run with its reason, and the others with it") {
  const Error error = error_of([] {
    run_processes(2, std::chrono::seconds(30), [](std::uint32_t self) {
      if (self == 1) throw Exception(Error(ErrorKind::refused, "the reason"));
      for (;;) ::pause();
    });
    return 0;
  });
  CHECK(error.kind() == ErrorKind::refused);
  CHECK_THAT(error.message(), Catch::Contains("the reason"));
}

TEST_CASE("a process that crashes is reported with its signal") {
  const Error error = error_of([] {
    run_processes(1, std::chrono::seconds(30), [](std::uint32_t) { ::raise(SIGKILL); });
    return 0;
  });
  CHECK(error.kind() == ErrorKind::member_lost);
  CHECK_THAT(error.message(), Catch::Contains("signal 9"));
}

TEST_CASE("a process that crashes ends the run at once, though the others wait for it") {
  const Error error = error_of([] {
    run_processes(3, std::chrono::hours(1), [](std::uint32_t self) {
      if (self == 0) return;
      if (self == 1) ::raise(SIGKILL);
      for (;;) ::pause();
    });
    return 0;
  });
  CHECK(error.kind() == ErrorKind::member_lost);
  CHECK_THAT(error.message(), Catch::Contains("process 1 of the bench ended by signal 9"));
}

TEST_CASE("processes that do not end are killed when patience does") {
  const Error error = error_of([] {
    run_processes(2, std::chrono::milliseconds(20), [](std::uint32_t) {
      for (;;) ::pause();
    });
    return 0;
  });
  CHECK(error.kind() == ErrorKind::would_block);
}

TEST_CASE("a gate opens at one instant for all") {
  auto memory = SharedMemory::make(4096);
  Gate& gate = memory.make_objects<Gate>(0, 1)[0];
  const auto opened = memory.make_objects<SharedWord>(1024, 4);
  run_processes(4, std::chrono::seconds(30), [&](std::uint32_t self) { opened[self].value = gate.pass(4); });
  CHECK(opened[0].value > 0);
  for (const SharedWord& word : opened) CHECK(word.value == opened[0].value);
}
