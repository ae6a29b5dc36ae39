// A node's id by the name of its host.
#include "config_fixture.hpp"

#include <spindrift/core/config/host_number.hpp>

using namespace spindrift;
using namespace spindrift::test;

TEST_CASE("a host's number is what its name ends in, up to the first dot") {
  CHECK(config::host_number("orders-3").value() == 3);
  CHECK(config::host_number("orders-12.orders.shop.svc.cluster.local").value() == 12);
  CHECK(config::host_number("rack2-node08").value() == 8);
  CHECK(config::host_number("7").value() == 7);
  CHECK(config::host_number("n-4294967294").value() == 4294967294);
}

TEST_CASE("a host whose name ends in no node id has no number") {
  for (const char* name : {"", "orders", "orders-", "3-orders", "orders.7", "n-4294967295", "n-99999999999999999999"}) {
    INFO(name);
    const auto number = config::host_number(name);
    REQUIRE_FALSE(number);
    CHECK(number.error().kind() == ErrorKind::bad_config);
  }
}

TEST_CASE("local_id = hostname is the number of this host's name, or a problem of the file that says so") {
  const auto number = config::host_number(config::own_host_name().value());
  const std::string text = "[SPINDRIFT]\nmembers = " + std::to_string(number ? number.value() : 0) +
                           "\n[DERECHO]\nlocal_id = hostname\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n";
  if (number) {
    const Config config = parse(text);
    CHECK(config.local_id() == NodeId(number.value()));
    CHECK(effective(config, "DERECHO", "local_id").origin == "test.cfg:4 by the name of this host");
  } else {
    check_problems(Config::check_text(text, "test.cfg", {}, {}), {{"test.cfg:4", "ends in no node id", "orders-3"}});
  }
}

TEST_CASE("no other key takes its value from the host's name") {
  const auto problems = Config::check_text("[SPINDRIFT]\nmembers = hostname\n", "test.cfg", {}, {});
  REQUIRE_FALSE(problems.empty());
}
