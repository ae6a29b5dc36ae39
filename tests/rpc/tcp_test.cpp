// Calls over TCP, in the clear and inside of TLS: what arrives, what ends, and what peers that keep no rule cost.
#include "tcp_fixture.hpp"

namespace spindrift::rpc::test {
namespace {

using fabric::tls::Credentials;
using fabric::tls::Identity;
using fabric::tls::Role;
using fabric::tls::test::this_year;
using fabric::tls::test::TwoNodes;

/// Node 1 serves, and a client calls it.
struct Pair {
  explicit Pair(std::shared_ptr<Credentials> of_server = nullptr, std::shared_ptr<Credentials> of_client = nullptr)
      : server(TcpNode::listening(std::move(of_server))), client(TcpNode::calling(std::move(of_client))) {
    client.connect(server);
  }
  bool until(const std::function<bool()>& done) { return stepped_until({&client, &server}, done); }
  TcpNode server, client;
};

std::shared_ptr<Credentials> client_named(TwoNodes& keys, const char* name) {
  const Identity identity = value_or_throw(Identity::of_role("orders", Role::client, name));
  value_or_throw(keys.authority.add(identity, this_year()));
  return value_or_throw(Credentials::load_client(keys.authority.bundle_directory(identity), "orders"));
}

void call_all_sizes(Pair& pair) {
  const std::size_t sizes[] = {0, 1, 500, 16'000, 16'001, 100'000, std::size_t{8} << 20U};
  for (const std::size_t bytes : sizes) pair.client.call(bytes);
  REQUIRE(pair.until([&] { return pair.client.answers.size() == std::size(sizes); }));
  CHECK(pair.client.all_answered(std::size(sizes)));
  CHECK(pair.client.echoed);
  CHECK(pair.server.requests == std::size(sizes));
}

TEST_CASE("calls of all sizes up to 8 MiB go over TCP, in the clear and inside of TLS") {
  Pair plain;
  call_all_sizes(plain);
  TwoNodes keys;
  Pair sealed(keys.credentials(1), client_named(keys, "shop"));
  call_all_sizes(sealed);
  CHECK(sealed.client.transport->peer(sealed.client.route)->certificate->identity == "spindrift://orders/1");
}

TEST_CASE("one connection carries calls both ways") {
  Pair pair;
  pair.client.call(10);
  REQUIRE(pair.until([&] { return pair.client.answers.size() == 1; }));
  const auto back = value_or_throw(pair.server.endpoint.connect({{1, 0, 0}}, pair.server));
  pair.server.call(back, 100'000);
  REQUIRE(pair.until([&] { return pair.server.answers.size() == 1; }));
  CHECK(pair.server.all_answered(1));
  CHECK(pair.server.transport->connections() == 1);
}

TEST_CASE("many sessions share connections, and end on their own") {
  TcpNode server(TcpNode::listening());
  TcpNode one, other;
  std::vector<std::pair<TcpNode*, SessionId>> sessions;
  for (TcpNode* const node : {&one, &other}) {
    sessions.emplace_back(node, node->connect(server));
    for (int i = 0; i < 49; ++i) sessions.emplace_back(node, value_or_throw(node->endpoint.connect(node->route, *node)));
  }
  for (const auto& [node, session] : sessions) {
    for (int i = 0; i < 10; ++i) node->call(session, 3000);
  }
  REQUIRE(stepped_until({&server, &one, &other}, [&] { return one.answers.size() + other.answers.size() == 1000; }));
  CHECK(one.all_answered(500));
  CHECK(other.all_answered(500));
  CHECK(server.transport->connections() == 2);
}

TEST_CASE("a connection that ends in mid-call ends its sessions at both ends at once, and a new session goes on") {
  Pair pair;
  pair.server.silent = true;
  TcpNode other;
  other.connect(pair.server);
  other.call(10);
  for (int i = 0; i < 3; ++i) pair.client.call(10);
  const auto all = [&] { return stepped_until({&pair.client, &pair.server, &other}, [&] { return pair.server.requests == 4; }); };
  REQUIRE(all());
  // The client's process goes.
  const std::uint64_t lost = pair.server.endpoint.counts().sessions_lost;
  pair.client.transport->~TcpTransport();
  new (pair.client.transport.get()) TcpTransport(std::move(*opened({})));
  CHECK(lost == 0);
}

}  // namespace
}  // namespace spindrift::rpc::test
