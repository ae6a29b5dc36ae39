// Clients that reach no member, or that none lets in: the reason is told for each address, and what will not change at once.
#include <catch2/catch.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "served_group.hpp"
#include "till.hpp"

using namespace spindrift;
using fabric::tls::Role;

namespace {

constexpr Duration patience = std::chrono::seconds(120);

/// The error of an update by a client with these options.
Error refusal_of(ClientOptions options) {
  Client client(std::move(options));
  const auto error = thrown_by([&] { client.replicated<Till>("orders").update<&Till::pay>("Ann").get(patience); });
  REQUIRE(error);
  return *error;
}

/// The same of requests that have ever more time, until it has come to that reason: a machine may be busy.
Error refusal_of(ClientOptions options, const std::string& reason) {
  for (options.give_up_after = std::chrono::seconds(1);; options.give_up_after *= 2) {
    const Error error = refusal_of(options);
    REQUIRE(error.kind() == ErrorKind::timed_out);
    if (error.to_string().find(reason) != std::string::npos || options.give_up_after > patience) return error;
  }
}

void is_about(const Error& error, const std::string& reason, const std::string& fix) {
  CHECK_THAT(error.to_string(), Catch::Contains(reason));
  CHECK_THAT(error.fix(), Catch::Contains(fix));
}

bool is_of_the_parent(const std::function<void()>& call) {
  const auto error = thrown_by(call);
  return error && error->kind() == ErrorKind::bad_argument && error->message().find("parent's") != std::string::npos;
}

}  // namespace

TEST_CASE("a client that no member lets in by its keys is told why at once") {
  ServedGroup<Till> group(2);
  ClientOptions options = group.options(0);
  options.give_up_after = patience;
  SECTION("they are of another authority") {
    const GroupFixture other("tcp");
    options.keys = other.directory() + "/keys/1";
    const Error error = refusal_of(options);
    CHECK(error.kind() == ErrorKind::refused);
    CHECK(error.message().find("no member lets this client in") != std::string::npos);
    is_about(error, group.address_of(0) + ": the peer's certificate is refused", "one authority");
  }
  SECTION("they are revoked while it calls") {
    Client client(options);
    auto till = client.replicated<Till>("orders");
    REQUIRE(till.update<&Till::pay>("Ann").get(patience) == 1);
    auto authority = value_or_throw(fabric::tls::Authority::open(group.fixture.directory() + "/keys"));
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    value_or_throw(authority.revoke(value_or_throw(fabric::tls::Identity::of_role("test", Role::client, "teller")), now));
    std::optional<Error> error;
    while (!error) error = thrown_by([&] { till.update<&Till::pay>("Ann").get(patience); });
    CHECK(error->kind() == ErrorKind::refused);
    is_about(*error, "revoked", "keys show");
  }
  leave_all(group.groups);
}

TEST_CASE("a client that cannot call its members has the reason for each when its time is over, or at once") {
  ServedGroup<Till> group(1);
  ClientOptions options;
  SECTION("nobody listens there") {
    options.members = {"127.0.0.1:1"};
    const std::string reason = "127.0.0.1:1: nobody answers there (connect: Connection refused";
    is_about(refusal_of(options, reason), reason, "client_port");
  }
  SECTION("it has no keys, and the members have") {
    options.members = {group.address_of(0)};
    const std::string reason = group.address_of(0) + ": the connection ended before the member answered";
    is_about(refusal_of(options, reason), reason, "other keys, or none");
  }
  SECTION("nobody has that name") {
    options.members = {"no-such-host.invalid:7600"};
    const std::string reason = "cannot resolve no-such-host.invalid";
    is_about(refusal_of(options, reason), reason, "ClientOptions.members");
  }
  SECTION("one is beyond loopback, and there are no keys") {
    options.members = {"192.0.2.1:7600"};
    options.give_up_after = patience;
    const Error error = refusal_of(options);
    CHECK(error.kind() == ErrorKind::unsupported);
    is_about(error, "192.0.2.1:7600: without keys", "ClientOptions.keys");
  }
  leave_all(group.groups);
}

TEST_CASE("a client is its process's alone: in a child that this forks all calls are refused, and its end holds up nobody") {
  ServedGroup<Till> group(1, "security = none\n");
  auto client = std::make_unique<Client>(group.open_options(0));
  auto till = client->replicated<Till>("orders");
  const auto first = till.update<&Till::pay>("Ann");
  REQUIRE(first.get(patience) == 1);
  const pid_t child = ::fork();
  if (child == 0) {
    bool right = is_of_the_parent([&] { static_cast<void>(till.update<&Till::pay>("Ann")); });
    right = is_of_the_parent([&] { static_cast<void>(client->replicated<Till>("orders")); }) && right;
    right = is_of_the_parent([&] { static_cast<void>(first.get()); }) && right;
    right = is_of_the_parent([&] { static_cast<void>(first.is_answered()); }) && right;
    client.reset();
    ::_exit(right ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(till.update<&Till::pay>("Ann").get(patience) == 2);
  client.reset();
  leave_all(group.groups);
}
