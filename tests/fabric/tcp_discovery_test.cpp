// Asking a process of which only the address is known what it tells of its group: who gets an answer, who does not, and what
// is taken for one.
#include "tcp_members.hpp"

#include <spindrift/core/bytes.hpp>
#include <spindrift/fabric/connected/socket_address.hpp>
#include <spindrift/fabric/tcp/discovery.hpp>
#include <spindrift/fabric/tcp/discovery_answer.hpp>
#include <spindrift/fabric/tcp/socket.hpp>

#include <poll.h>

#include <future>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

std::vector<connected::SocketAddress> resolved(const std::vector<std::string>& endpoints) {
  std::vector<connected::SocketAddress> all;
  for (const std::string& each : endpoints) all.push_back(value_or_throw(connected::resolve(each, true)));
  return all;
}

/// A process that listens as that node, and tells what it is told to.
class Teller {
 public:
  Teller(const TemporaryDirectory& directory, NodeId node, std::shared_ptr<tls::Credentials> credentials = {}) {
    fabric_ = value_or_throw(make_tcp({.self = node,
                                       .runtime_directory = directory.path(),
                                       .group_name = group_of_keys,
                                       .credentials = std::move(credentials),
                                       .discovery = answer}));
    value_or_throw(fabric_->listen(address_of(node)));
  }
  std::shared_ptr<tcp::DiscoveryAnswer> answer = std::make_shared<tcp::DiscoveryAnswer>();

 private:
  std::unique_ptr<Fabric> fabric_;
};

Result<std::string> answer_of(const std::string& endpoint, std::shared_ptr<tls::Credentials> credentials = {}) {
  auto outcomes = tcp::discover(resolved({endpoint}), {.credentials = std::move(credentials)}, SystemClock());
  REQUIRE(outcomes.size() == 1);
  return std::move(outcomes.front().answer);
}

std::string endpoint_of(std::uint32_t node) { return address_of(NodeId(node)).endpoint; }

/// A listener that says these bytes to its first caller when that has asked, and then hangs up, or waits until the other end
/// has had enough. Whether it was asked as one asks.
std::future<bool> says(const std::string& endpoint, std::span<const std::byte> bytes, bool hangs_up) {
  auto listener = value_or_throw(tcp::listen_at(value_or_throw(connected::resolve(endpoint, true))));
  return std::async(std::launch::async,
                    [listener = std::move(listener), said = Bytes(bytes.begin(), bytes.end()), hangs_up] {
                      pollfd waiting{.fd = listener.get(), .events = POLLIN, .revents = 0};
                      static_cast<void>(::poll(&waiting, 1, 20'000));
                      const FileDescriptor caller(::accept(listener.get(), nullptr, nullptr));
                      connected::GreetingBytes greeting{};
                      static_cast<void>(::recv(caller.get(), greeting.data(), greeting.size(), MSG_WAITALL));
                      static_cast<void>(::send(caller.get(), said.data(), said.size(), MSG_NOSIGNAL));
                      std::byte more{};
                      if (!hangs_up) static_cast<void>(::recv(caller.get(), &more, 1, 0));
                      return greeting == connected::discovery_greeting();
                    });
}

}  // namespace

TEST_CASE("whoever asks at a member's address is told what that was told to tell, the newest of it, as often as it asks") {
  const TemporaryDirectory directory;
  const Teller teller(directory, NodeId(1));
  CHECK_FALSE(answer_of(endpoint_of(1)).ok());  // nothing yet
  teller.answer->set("once");
  CHECK(answer_of(endpoint_of(1)).value() == "once");
  const std::string longest(tcp::discovery_answer_bytes_max, 'x');
  teller.answer->set(longest);
  for (int i = 0; i < 3; ++i) CHECK(answer_of(endpoint_of(1)).value() == longest);
}

TEST_CASE("of many that are asked at once each has its own outcome, and none that is dead holds up the others") {
  const TemporaryDirectory directory;
  const Teller first(directory, NodeId(1)), second(directory, NodeId(2));
  first.answer->set("one");
  second.answer->set("two");
  const auto outcomes =
      tcp::discover(resolved({endpoint_of(1), endpoint_of(3), endpoint_of(2)}), {}, SystemClock());
  REQUIRE(outcomes.size() == 3);
  const auto said = [](const tcp::DiscoveryOutcome& outcome) {
    return outcome.answer ? *outcome.answer : outcome.from + " " + outcome.answer.error().to_string();
  };
  CHECK(said(outcomes[0]) == "one");
  CHECK_THAT(said(outcomes[1]), Catch::Contains("127.") && Catch::Contains("refused"));
  CHECK(said(outcomes[2]) == "two");
  CHECK(tcp::discover({}, {}, SystemClock()).empty());
}

TEST_CASE("with keys, members and observers of the group are told, by a member, and nobody else is, by nobody else") {
  Keys keys;
  const Keys strange;
  value_or_throw(keys.authority.add(value_or_throw(tls::Identity::of_role(group_of_keys, tls::Role::observer, "eye")),
                                    tls::test::this_year()));
  value_or_throw(keys.authority.add(value_or_throw(tls::Identity::of_role(group_of_keys, tls::Role::client, "shop")),
                                    tls::test::this_year()));
  const auto in_role = [&](tls::Role role, const char* name) {
    const auto identity = value_or_throw(tls::Identity::of_role(group_of_keys, role, name));
    return tls::Credentials::load_observer(keys.authority.bundle_directory(identity), group_of_keys);
  };
  const TemporaryDirectory directory;
  const Teller teller(directory, NodeId(1), keys.of(NodeId(1)));
  teller.answer->set("the roster");
  CHECK(answer_of(endpoint_of(1), keys.of(NodeId(2))).value() == "the roster");
  CHECK(answer_of(endpoint_of(1), value_or_throw(in_role(tls::Role::observer, "eye"))).value() == "the roster");
  CHECK_FALSE(answer_of(endpoint_of(1)).ok());                            // in the clear
  CHECK_FALSE(answer_of(endpoint_of(1), strange.of(NodeId(2))).ok());     // of another authority
  CHECK_FALSE(answer_of(endpoint_of(1), keys.of(NodeId(1))).ok());        // the node's own key
  CHECK_FALSE(in_role(tls::Role::client, "shop").ok());                   // which may not even ask
  const Teller stranger(directory, NodeId(2), strange.of(NodeId(2)));
  stranger.answer->set("a lie");
  CHECK_FALSE(answer_of(endpoint_of(2), keys.of(NodeId(1))).ok());
  const Teller observer(directory, NodeId(4), value_or_throw(in_role(tls::Role::observer, "eye")));
  observer.answer->set("a lie");
  CHECK_FALSE(answer_of(endpoint_of(4), keys.of(NodeId(1))).ok());
  const Teller in_the_clear(directory, NodeId(3));
  in_the_clear.answer->set("a lie");
  CHECK_FALSE(answer_of(endpoint_of(3), keys.of(NodeId(1))).ok());
}

TEST_CASE("a question at a process that tells nobody anything is refused, and its members go on") {
  const Keys keys;
  Members members(keys);
  const auto at = resolved({endpoint_of(1)});
  const tcp::DiscoveryOptions options{.credentials = keys.of(NodeId(3))};
  auto asked = std::async(std::launch::async, [&] { return tcp::discover(at, options, SystemClock()); });
  members.exchange_until([&] { return asked.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  CHECK_FALSE(asked.get().at(0).answer.ok());
  members.check_undisturbed();
}

TEST_CASE("what answers as no member does is no answer, however long it is, or short, or late") {
  const auto length = [](std::uint64_t bytes) { return field_bytes(bytes); };
  SECTION("of no length") {
    auto other = says(endpoint_of(1), length(0), false);
    CHECK(answer_of(endpoint_of(1)).error().kind() == ErrorKind::bad_input);
    CHECK(other.get());
  }
  SECTION("longer than any") {
    auto other = says(endpoint_of(1), length(tcp::discovery_answer_bytes_max + 1), false);
    CHECK(answer_of(endpoint_of(1)).error().kind() == ErrorKind::bad_input);
    CHECK(other.get());
  }
  SECTION("cut off") {
    auto other = says(endpoint_of(1), length(100), true);
    CHECK(answer_of(endpoint_of(1)).error().kind() == ErrorKind::member_lost);
    CHECK(other.get());
  }
  SECTION("never") {
    auto other = says(endpoint_of(1), {}, false);
    auto outcomes = tcp::discover(resolved({endpoint_of(1)}), {.patience = std::chrono::milliseconds(50)}, SystemClock());
    CHECK(outcomes.front().answer.error().kind() == ErrorKind::timed_out);
    CHECK(other.get());
  }
}

TEST_CASE("a name is asked at all of its addresses, each once") {
  const auto all = connected::resolve_all("localhost:7400");
  REQUIRE(all);
  CHECK_FALSE(all->empty());
  const auto numbers = connected::resolve_all("127.0.0.1:7400");
  REQUIRE(numbers);
  CHECK(numbers->size() == 1);
  CHECK_FALSE(connected::resolve_all("no such name:7400"));
}
