// Names of fabrics: what each says, and what is none.
#include <catch2/catch.hpp>

#include <spindrift/fabric/fabric_name.hpp>

using namespace spindrift;
using namespace spindrift::fabric;

using BetweenHosts = FabricName::BetweenHosts;

TEST_CASE("a fabric's name says what maps neighbors and what reaches other hosts") {
  struct Row {
    const char* text;
    bool shm;
    BetweenHosts between_hosts;
    const char* provider;
    const char* between_hosts_name;
  };
  const auto row = GENERATE(
      Row{"shm", true, BetweenHosts::none, "", ""}, Row{"tcp", false, BetweenHosts::tcp, "", "tcp"},
      Row{"shm+tcp", true, BetweenHosts::tcp, "", "tcp"}, Row{"ofi:tcp", false, BetweenHosts::ofi, "tcp", "ofi:tcp"},
      Row{"vq:net", false, BetweenHosts::vq, "net", "vq:net"}, Row{"verbs", false, BetweenHosts::verbs, "", "verbs"},
      Row{"shm+ofi:net", true, BetweenHosts::ofi, "net", "ofi:net"},
      Row{"shm+vq:tcp", true, BetweenHosts::vq, "tcp", "vq:tcp"}, Row{"shm+verbs", true, BetweenHosts::verbs, "", "verbs"});
  CAPTURE(row.text);
  const FabricName name = value_or_throw(FabricName::parse(row.text));
  CHECK(name.shm == row.shm);
  CHECK(name.between_hosts == row.between_hosts);
  CHECK(name.provider == row.provider);
  CHECK(name.between_hosts_name() == row.between_hosts_name);
  CHECK(name.mixed() == (row.shm && row.between_hosts != BetweenHosts::none));
}

TEST_CASE("what names no fabric is refused") {
  const char* const text =
      GENERATE("", "tcp:", "TCP", "ofi:", "vq:", "ofi", "shm+", "shm+shm", "shm+shm+verbs", "verbs+shm", "verbs:x");
  CAPTURE(text);
  const auto refused = FabricName::parse(text);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().kind() == ErrorKind::bad_argument);
}

TEST_CASE("members are mapped by shm alone always, by a mixed fabric on one host, and by another never") {
  const auto maps = [](const char* name, const char* other) {
    return value_or_throw(FabricName::parse(name)).maps("a:1", other);
  };
  CHECK(maps("shm", "b:1"));
  CHECK(maps("shm+vq:tcp", "a:2"));
  CHECK_FALSE(maps("shm+vq:tcp", "b:1"));
  CHECK_FALSE(maps("vq:tcp", "a:2"));
}
