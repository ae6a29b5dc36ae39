// Which nodes are called by name, and the wait for the name of the own host.
#include <catch2/catch.hpp>

#include <chrono>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/group/called_names.hpp>

namespace spindrift::group {
namespace {

using namespace std::chrono_literals;

Config config_of(const std::string& addresses, const std::string& fabric) {
  const std::string text = "[SPINDRIFT]\nmembers = 0, 1, 2\nsecurity = none\nfabric = " + fabric +
                           "\naddresses = " + addresses + "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  auto config = Config::parse(text, "test.cfg", {}, {});
  INFO((config ? std::string() : config.error().to_string()));
  REQUIRE(config);
  return std::move(config).value();
}

}  // namespace

TEST_CASE("a node is called by name where its address is none in numbers, and no memory is shared with it") {
  const Config hosts = config_of("0@a.test:1, 1@[::1]:2, 2@a.test:3", "tcp");
  CHECK(called_name(hosts, NodeId(0)) == "a.test:1");
  CHECK_FALSE(called_name(hosts, NodeId(1)));
  CHECK(called_name(hosts, NodeId(2)) == "a.test:3");
  const Config neighbors = config_of("0@a.test:1, 1@127.0.0.1:2, 2@a.test:3", "shm+tcp");
  CHECK(called_name(neighbors, NodeId(0)) == "a.test:1");
  CHECK_FALSE(called_name(neighbors, NodeId(1)));
  CHECK_FALSE(called_name(neighbors, NodeId(2)));
}

TEST_CASE("nobody waits for the name of the own host where that has an address of this host, or is one") {
  for (const char* own : {"localhost:1", "127.0.0.1:1", "[::1]:1"}) {
    INFO(own);
    const Config config = config_of(std::string("0@") + own + ", 1@127.0.0.1:2, 2@127.0.0.1:3", "tcp");
    bool told = false;
    CHECK(await_own_name(config, 60s, SystemClock(), [&] { told = true; }));
    CHECK_FALSE(told);
  }
}

TEST_CASE("the name of the own host is waited for as long as was said, with one word about it, and named in the end") {
  const Config config = config_of("0@no-such-host.invalid:1, 1@127.0.0.1:2, 2@127.0.0.1:3", "tcp");
  int told = 0;
  const SystemClock clock;
  const Time begun = clock.now();
  const auto waited = await_own_name(config, 700ms, clock, [&] { ++told; });
  CHECK(clock.now() - begun >= 700ms);
  CHECK(told == 1);
  REQUIRE_FALSE(waited);
  CHECK(waited.error().kind() == ErrorKind::timed_out);
  CHECK_THAT(waited.error().to_string(),
             Catch::StartsWith("node 0 waited 700 ms for its own host's name to have an address here"));
}

}  // namespace spindrift::group
