// Which nodes are on one host, as their addresses are written.
#include <catch2/catch.hpp>

#include <spindrift/core/config/addresses.hpp>

namespace spindrift::config {

TEST_CASE("two addresses are of one host if they name it alike, whatever the port") {
  CHECK(same_host("10.0.0.1:7400", "10.0.0.1:7401") == true);
  CHECK(same_host("10.0.0.1:7400", "10.0.0.2:7400") == false);
  CHECK(same_host("Alpha.Cluster:1", "alpha.cluster:2") == true);
  CHECK(same_host("alpha.cluster.:1", "alpha.cluster:1") == true);
  CHECK(same_host("alpha:1", "alpha.cluster:1") == false);
  CHECK(same_host("[fd00:0:0::1]:1", "[FD00::1]:2") == true);
  CHECK(same_host("[fd00::1]:1", "[fd00::2]:1") == false);
}

TEST_CASE("a name and a number are two hosts, for no name is looked up") {
  CHECK(same_host("localhost:1", "127.0.0.1:1") == false);
  CHECK(same_host("[::1]:1", "127.0.0.1:1") == false);
}

TEST_CASE("what one end says of two addresses the other says as well") {
  for (const auto& [one, other] : {std::pair{"a:1", "b:1"}, std::pair{"A:1", "a:2"}, std::pair{"[::1]:1", "[0::1]:1"}})
    CHECK(same_host(one, other) == same_host(other, one));
}

TEST_CASE("nobody can call at port 0, or at whatever address a host has") {
  for (const char* address : {"10.0.0.1:1", "host:65535", "[fd00::1]:7400"}) {
    CAPTURE(address);
    CHECK(is_callable(value_or_throw(parse_host_port(address))));
  }
  for (const char* address : {"0.0.0.0:1", "[::]:1", "[0:0::0]:1", "[::ffff:0.0.0.0]:1", "host:0", "host:00"}) {
    CAPTURE(address);
    CHECK_FALSE(is_callable(value_or_throw(parse_host_port(address))));
  }
}

TEST_CASE("loopback is what is written as such") {
  for (const char* address :
       {"127.0.0.1:1", "127.9.8.7:1", "[::1]:1", "[0:0::1]:1", "localhost:1", "LocalHost.:1", "[::ffff:127.0.0.1]:1"}) {
    CAPTURE(address);
    CHECK(on_loopback(address));
  }
  for (const char* address : {"10.0.0.1:1", "128.0.0.1:1", "0.0.0.0:1", "[::]:1", "[fd00::1]:1", "[::ffff:10.0.0.1]:1",
                              "localhost.cluster:1", "127.0.0.1.cluster:1", "127.1:1", "127.0.0.1", ""}) {
    CAPTURE(address);
    CHECK_FALSE(on_loopback(address));
  }
}

TEST_CASE("who has no address is on no host") {
  CHECK_FALSE(same_host("", "").has_value());
  CHECK_FALSE(same_host("a:1", "a").has_value());
  CHECK_FALSE(same_host("a", "a:1").has_value());
}

}  // namespace spindrift::config
