// The bare ways between processes count what they carry, and say why where there is nothing to count.
#include <catch2/catch.hpp>

#include <spindrift/bench/wire.hpp>

#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

namespace {

WireRun wire(const std::string& fabric) {
  GroupShape shape{3, 3, profile_for(1024, 100, 0), {}};
  shape.settings = {{"SPINDRIFT/fabric", fabric, "the test"}, {"SPINDRIFT/addresses", "127.0.0.1:2715<id>", "the test"}};
  return {shape, 4096, std::chrono::milliseconds(50)};
}

}  // namespace

TEST_CASE("three processes fill TCP connections to each other") { CHECK(tcp_bytes_per_second(wire("shm")) > 0); }

TEST_CASE("one process fills a TCP connection to another") { CHECK(stream_bytes_per_second(wire("shm")) > 0); }

TEST_CASE("three processes write to each other's memory over the fabric alone") {
  CHECK(fabric_bytes_per_second(wire("ofi:tcp")) > 0);
}

TEST_CASE("a fabric that maps memory is told apart") {
  const Error refused = error_of([] { return fabric_bytes_per_second(wire("shm")); });
  CHECK(refused.kind() == ErrorKind::unsupported);
  CHECK_THAT(refused.to_string(), Catch::Contains("write nothing"));
}
