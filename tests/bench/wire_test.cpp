// The bare ways between processes count what they carry, and say why where there is nothing to count.
#include <catch2/catch.hpp>

#include <algorithm>

#include <spindrift/bench/group_network.hpp>
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

TEST_CASE("round trips over TCP are one each, spinning or after a rest") {
  const auto latencies_ns = tcp_latencies_ns(20, 64, GENERATE(Duration{}, Duration(std::chrono::milliseconds(1))));
  REQUIRE(latencies_ns.size() == 20);
  for (const std::uint64_t latency : latencies_ns) CHECK(latency > 0);
}

TEST_CASE("the network of a bench has keys where members need them, and says what it is") {
  const auto sets = [](const GroupNetwork& network, const std::string& key) {
    return std::any_of(network.settings().begin(), network.settings().end(),
                       [&](const ConfigOverride& each) { return each.name == "SPINDRIFT/" + key; });
  };
  const auto sealed = GroupNetwork::make("tcp", "", 2), clear = GroupNetwork::make("tcp", "none", 2);
  CHECK((sealed.sealed() && sets(sealed, "keys") && sets(sealed, "addresses") && sealed.between_hosts()));
  CHECK((!clear.sealed() && !sets(clear, "keys") && clear.name() == "tcp, security none"));
  CHECK(sets(GroupNetwork::make("ofi:tcp", "tls", 2), "keys"));
  CHECK_FALSE(sets(GroupNetwork::make("ofi:tcp", "", 2), "keys"));
  CHECK_FALSE(GroupNetwork::make("shm", "", 2).between_hosts());
  CHECK(error_of([] { return GroupNetwork::make("nonsense", "", 2); }).kind() == ErrorKind::bad_argument);
}

TEST_CASE("a fabric that maps memory is told apart") {
  const Error refused = error_of([] { return fabric_bytes_per_second(wire("shm")); });
  CHECK(refused.kind() == ErrorKind::unsupported);
  CHECK_THAT(refused.to_string(), Catch::Contains("write nothing"));
}
