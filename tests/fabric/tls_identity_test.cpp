// Identities and their URIs: what is one, and what hostile text is not.
#include <catch2/catch.hpp>

#include <string>

#include <spindrift/fabric/tls/identity.hpp>

using namespace spindrift;
using namespace spindrift::fabric::tls;

TEST_CASE("a member's identity is its group and its node") {
  const auto identity = Identity::parse("spindrift://orders/2");
  REQUIRE(identity);
  CHECK(identity->group == "orders");
  CHECK(identity->role == Role::member);
  CHECK(identity->node() == NodeId(2));
  CHECK(identity->uri() == "spindrift://orders/2");
  CHECK(*identity == *Identity::of_member("orders", NodeId(2)));
}

TEST_CASE("an identity of another role has a name and no node") {
  for (const Role role : {Role::observer, Role::client, Role::admin}) {
    const auto identity = Identity::of_role("orders", role, "7");
    REQUIRE(identity);
    CHECK_FALSE(identity->node());
    CHECK(identity->uri() == "spindrift://orders/" + std::string(to_string(role)) + "/7");
    CHECK(*Identity::parse(identity->uri()) == *identity);
    CHECK(role_called(to_string(role)) == role);
  }
  CHECK_FALSE(role_called("Member"));
  CHECK_FALSE(role_called(""));
}

TEST_CASE("the longest and the highest that an identity may have are taken") {
  const std::string group(32, 'g'), name(64, 'n');
  CHECK(Identity::parse("spindrift://" + group + "/0"));
  CHECK(Identity::parse("spindrift://" + group + "/4294967294"));
  CHECK(Identity::parse("spindrift://g/client/" + name));
  CHECK_FALSE(Identity::parse("spindrift://g" + group + "/0"));
  CHECK_FALSE(Identity::parse("spindrift://g/client/n" + name));
  CHECK_FALSE(Identity::parse("spindrift://g/4294967295"));
  CHECK_FALSE(Identity::parse("spindrift://g/4294967296"));
}

TEST_CASE("a text that is not exactly an identity's is none") {
  using namespace std::string_literals;
  const std::string refused[] = {
      "",
      "spindrift:",
      "spindrift://",
      "spindrift:///2",
      "spindrift://orders",
      "spindrift://orders/",
      "Spindrift://orders/2",
      "spindrift:/orders/2",
      "http://orders/2",
      " spindrift://orders/2",
      "spindrift://orders/2 ",
      "spindrift://orders/2\n",
      "spindrift://orders/2\0"s,
      "spindrift://orders\0/2"s,
      "spindrift://or%64ers/2",
      "spindrift://orders/%32",
      "spindrift://Orders/2",
      "spindrift://orders:7400/2",
      "spindrift://user@orders/2",
      "spindrift://orders/2/",
      "spindrift://orders/2?x",
      "spindrift://orders/2#x",
      "spindrift://orders/02",
      "spindrift://orders/+2",
      "spindrift://orders/-2",
      "spindrift://orders/0x2",
      "spindrift://orders/2e0",
      "spindrift://orders/\xd9\xa2",  // a two in Arabic digits
      "spindrift://orders//2",
      "spindrift://orders/member/2",
      "spindrift://orders/root/2",
      "spindrift://orders/Admin/x",
      "spindrift://orders/admin",
      "spindrift://orders/admin/",
      "spindrift://orders/admin/x/y",
      "spindrift://orders/admin/..",
      "spindrift://orders/admin/.x",
      "spindrift://orders/admin/-x",
      "spindrift://orders/admin/x y",
      "spindrift://orders/admin/x\0y"s,
      "spindrift://orders/admin/\xc3\xa4",
      "spindrift://../2",
  };
  for (const std::string& text : refused) {
    CAPTURE(text);
    const auto identity = Identity::parse(text);
    REQUIRE_FALSE(identity);
    CHECK(identity.error().kind() == ErrorKind::bad_input);
    CHECK_FALSE(identity.error().fix().empty());
  }
}

TEST_CASE("what makes no identity is refused with the argument that is wrong") {
  CHECK(Identity::of_member("Orders", NodeId(0)).error().kind() == ErrorKind::bad_argument);
  CHECK(Identity::of_member("orders", NodeId(0xffff'ffff)).error().kind() == ErrorKind::bad_argument);
  CHECK(Identity::of_role("orders", Role::member, "2").error().kind() == ErrorKind::bad_argument);
  CHECK(Identity::of_role("orders", Role::client, "../x").error().kind() == ErrorKind::bad_argument);
}

TEST_CASE("a URI of the scheme is known in any case, so that none is passed over") {
  CHECK(has_identity_scheme("spindrift://orders/2"));
  CHECK(has_identity_scheme("SpinDrift:anything"));
  CHECK_FALSE(has_identity_scheme("spindrif"));
  CHECK_FALSE(has_identity_scheme("spiffe://orders/2"));
  CHECK_FALSE(has_identity_scheme(""));
}
