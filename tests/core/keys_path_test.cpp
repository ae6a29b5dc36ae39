// The directories of keys.
#include <spindrift/core/keys_path.hpp>

#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

using namespace spindrift;

TEST_CASE("a pattern for keys names one directory for each node") {
  CHECK(keys_path("/etc/spindrift/<group>/<id>", "orders", NodeId(12)) == "/etc/spindrift/orders/12");
  CHECK(keys_path("/run/secrets/keys", "orders", NodeId(12)) == "/run/secrets/keys");
  CHECK(keys_path("/<id>/<group>/<id>", "orders", NodeId(3)) == "/3/orders/3");
}

TEST_CASE("keys lie below the home directory by default, where the command puts them") {
  const char* const home = std::getenv("HOME");
  if (home == nullptr) return;  // then it is what the system says, which this test does not know
  CHECK(keys_path(keys_path_default, "orders", NodeId(1)) == std::string(home) + "/.spindrift/orders/1");
  CHECK(group_keys_path("orders") + "/1" == keys_path(keys_path_default, "orders", NodeId(1)));
  CHECK(keys_path("/x/~/y", "orders", NodeId(1)) == "/x/~/y");
}
