// Calls over TCP, in the clear and inside of TLS: what arrives, what ends, and what peers that keep no rule cost.
#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

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
  CHECK(pair.client.endpoint.counts().retransmissions == 0);
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

TEST_CASE("a connection that ends in mid-call ends its sessions at both ends, and no others, and a new one goes on") {
  Pair pair;
  pair.server.silent = true;
  TcpNode other;
  other.connect(pair.server);
  other.call(10);
  for (int i = 0; i < 3; ++i) pair.client.call(10);
  const auto until = [&](const std::function<bool()>& done) {
    return stepped_until({&pair.client, &pair.server, &other}, done);
  };
  REQUIRE(until([&] { return pair.server.requests == 4; }));
  SECTION("the client hangs up") { pair.client.transport->hang_up(pair.client.route); }
  SECTION("the server hangs up on one, whichever that is") { pair.server.transport->hang_up({{1, 0, 0}}); }
  REQUIRE(until([&] { return pair.client.answers.size() + other.answers.size() >= 1; }));
  TcpNode& cut = pair.client.answers.empty() ? other : pair.client;
  TcpNode& left = pair.client.answers.empty() ? pair.client : other;
  REQUIRE(until([&] { return pair.server.endpoint.counts().sessions_lost == 1; }));
  CHECK(std::ranges::all_of(cut.answers, [](CallStatus status) { return status == CallStatus::peer_lost; }));
  CHECK(cut.changes.back() == SessionChange::lost);
  CHECK(left.answers.empty());
  CHECK(pair.server.requests == 4);  // nothing is carried out again
  pair.server.silent = false;
  cut.answers.clear();
  cut.connect(pair.server);
  cut.call(1000);
  REQUIRE(until([&] { return cut.answers.size() == 1; }));
  CHECK(cut.all_answered(1));
  CHECK(pair.server.requests == 5);
}

TEST_CASE("sessions over a route that is over, or leads nowhere, end with their calls") {
  Pair pair;
  pair.client.call(1);
  REQUIRE(pair.until([&] { return pair.client.answers.size() == 1; }));
  const PacketRoute first = pair.client.route;
  const SessionId other = pair.client.connect(pair.server);
  pair.client.transport->hang_up(first);
  REQUIRE(pair.until([&] { return pair.client.endpoint.counts().sessions_lost == 1; }));
  CHECK(pair.client.endpoint.session(other) != nullptr);
  pair.client.route = first;
  pair.client.answers.clear();
  pair.client.call(value_or_throw(pair.client.endpoint.connect(pair.client.route, pair.client)), 1);
  REQUIRE(pair.until([&] { return pair.client.answers.size() == 1; }));
  CHECK(pair.client.answers[0] == CallStatus::peer_lost);

  const std::string nobody = [] { return TcpNode(TcpNode::listening()).transport->address(); }();
  TcpNode client;
  const PacketRoute route = value_or_throw(client.transport->call(NodeId(1), nobody));
  CHECK_FALSE(client.transport->peer(route)->connected);
  client.call(value_or_throw(client.endpoint.connect(route, client)), 1);
  REQUIRE(stepped_until({&client}, [&] { return client.answers.size() == 1; }));
  CHECK(client.answers[0] == CallStatus::peer_lost);
  CHECK_FALSE(client.transport->peer(route));
}

TEST_CASE("a peer that stops reading costs a bounded memory, and holds nobody up") {
  StreamOptions options = TcpNode::listening();
  options.output_bytes_max = 256 << 10;
  TcpNode server(options);
  RawCaller deaf(server);
  deaf.greet();
  REQUIRE(stepped_until({&server}, [&] { return server.transport->connections() == 1; }));
  TcpNode other;
  other.connect(server);
  // It is sent packets as long as there is room for some, of the kernel's and then of ours.
  const std::vector<std::byte> header(header_bytes), payload(16'000);
  const std::vector<OutgoingPacket> burst(16, {{{1, 0, 0}}, header, payload});
  for (int i = 0; i < 400 && server.transport->packets_unsent() == 0; ++i) server.transport->send(burst);
  REQUIRE(server.transport->packets_unsent() > 0);
  CHECK(server.transport->output_bytes() <= options.output_bytes_max);
  CHECK(server.transport->output_bytes() > options.output_bytes_max - 2 * 16'100);
  for (int i = 0; i < 100; ++i) other.call(1000);
  REQUIRE(stepped_until({&server, &other}, [&] { return other.answers.size() == 100; }));
  CHECK(other.all_answered(100));
  server.transport->send(burst);
  CHECK(server.transport->output_bytes() <= options.output_bytes_max);
  deaf.hang_up();
  REQUIRE(stepped_until({&server, &other}, [&] { return server.transport->connections() == 1; }));
  CHECK(server.transport->output_bytes() == 0);
}

/// A server that is called, and by whom else it is.
struct Besieged {
  Besieged() : pair() {
    pair.client.call(1);
    REQUIRE(pair.until([&] { return pair.client.answers.size() == 1; }));
  }
  /// The others are as well off as before.
  void check_others() {
    const std::size_t before = pair.client.answers.size();
    pair.client.call(100'000);
    REQUIRE(pair.until([&] { return pair.client.answers.size() > before; }));
    CHECK(pair.client.answers.back() == CallStatus::answered);
  }
  Pair pair;
};

TEST_CASE("who breaks a rule of the stream is hung up on, and others go on") {
  Besieged besieged;
  RawCaller caller(besieged.pair.server);
  SECTION("another greeting") { caller.say(std::vector<std::byte>(48, std::byte{7})); }
  SECTION("a greeting of an observer") { caller.say(fabric::connected::observer_greeting()); }
  SECTION("a length beyond any packet") {
    caller.greet();
    caller.say_frame(header_bytes + 16'001, 0);
  }
  SECTION("a length of 4 GiB") {
    caller.greet();
    caller.say_frame(UINT32_MAX, 100);
  }
  SECTION("a length of less than a header") {
    caller.greet();
    caller.say_frame(header_bytes - 1, header_bytes - 1);
  }
  SECTION("a length of 0") {
    caller.greet();
    caller.say_frame(0, 0);
  }
  SECTION("nothing at all, or half a greeting") {
    RawCaller half(besieged.pair.server);
    const auto greeting = fabric::connected::client_greeting();
    half.say(std::span(greeting).first(20));
    REQUIRE(besieged.pair.until([&] { return half.is_ended(); }));
  }
  REQUIRE(besieged.pair.until([&] { return caller.is_ended(); }));
  besieged.check_others();
  CHECK(besieged.pair.server.transport->connections() == 1);
}

TEST_CASE("packets that are none are counted, and end no connection, and bytes may come one by one") {
  Besieged besieged;
  RawCaller caller(besieged.pair.server);
  caller.greet();
  const auto strange = [&] { return besieged.pair.server.endpoint.counts().packets_strange; };
  caller.say_frame(header_bytes + 100, header_bytes + 100);
  REQUIRE(besieged.pair.until([&] { return strange() == 1; }));
  std::vector<std::byte> frame(frame_head_bytes + header_bytes, std::byte{3});
  const auto head = field_bytes(std::uint32_t{header_bytes});
  std::ranges::copy(head, frame.begin());
  for (const std::byte byte : frame) {
    CHECK(strange() == 1);
    caller.say({&byte, 1});
    besieged.pair.server.endpoint.step(now());
  }
  REQUIRE(besieged.pair.until([&] { return strange() == 2; }));
  CHECK_FALSE(caller.is_ended());
  caller.say_frame(header_bytes + 100, 50);
  caller.hang_up();
  REQUIRE(besieged.pair.until([&] { return besieged.pair.server.transport->connections() == 1; }));
  besieged.check_others();
}

TEST_CASE("there are so many callers, and so many of one identity") {
  TwoNodes keys;
  StreamOptions options = TcpNode::listening(keys.credentials(1));
  options.callers_max = 3;
  options.callers_per_identity = 2;
  TcpNode server(options);
  const auto shop = client_named(keys, "shop"), desk = client_named(keys, "desk");
  std::vector<std::unique_ptr<TcpNode>> callers;
  const auto comes_in = [&](const std::shared_ptr<Credentials>& as) {
    TcpNode& caller = *callers.emplace_back(std::make_unique<TcpNode>(TcpNode::calling(as)));
    caller.connect(server);
    REQUIRE(stepped_until({&caller, &server}, [&] { return caller.changes.size() == 1; }));
    return caller.changes[0] == SessionChange::connected;
  };
  CHECK(comes_in(shop));
  CHECK(comes_in(shop));
  CHECK_FALSE(comes_in(shop));
  CHECK(comes_in(desk));
  CHECK_FALSE(comes_in(desk));
  callers[0].reset();
  REQUIRE(stepped_until({&server}, [&] { return server.transport->connections() == 2; }));
  CHECK(comes_in(shop));
}

TEST_CASE("callers prove that they are clients or members of the group, and callees which node they are") {
  TwoNodes keys, strange;
  TcpNode server(TcpNode::listening(keys.credentials(1)));
  const auto comes_in = [&](std::shared_ptr<Credentials> as, std::uint32_t node = 1) {
    TcpNode caller(TcpNode::calling(std::move(as)));
    caller.connect(server, node);
    REQUIRE(stepped_until({&caller, &server}, [&] { return caller.changes.size() == 1; }));
    return caller.changes[0] == SessionChange::connected;
  };
  const auto observer = value_or_throw(Identity::of_role("orders", Role::observer, "wall"));
  value_or_throw(keys.authority.add(observer, this_year()));
  CHECK(comes_in(keys.credentials(0)));
  CHECK(comes_in(client_named(keys, "shop")));
  CHECK_FALSE(comes_in(client_named(keys, "desk"), 0));  // it is node 1
  CHECK_FALSE(comes_in(value_or_throw(Credentials::load_observer(keys.authority.bundle_directory(observer), "orders"))));
  CHECK_FALSE(comes_in(strange.credentials(0)));
  CHECK_FALSE(comes_in(nullptr));  // in the clear
  CHECK_FALSE(Credentials::load_client(keys.authority.bundle_directory(observer), "orders"));
  // Half a handshake of TLS, and nothing more.
  RawCaller half(server);
  half.say(std::vector{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{2}, std::byte{0}});
  REQUIRE(stepped_until({&server}, [&] { return half.is_ended(); }));
  CHECK(comes_in(keys.credentials(0)));
}

TEST_CASE("a client whose certificate is revoked is cut off, and others are not") {
  TwoNodes keys;
  Pair pair(keys.credentials(1), client_named(keys, "shop"));
  TcpNode other(TcpNode::calling(client_named(keys, "desk")));
  other.connect(pair.server);
  const auto until = [&](const std::function<bool()>& done) {
    return stepped_until({&pair.client, &pair.server, &other}, done);
  };
  REQUIRE(until([&] { return pair.client.changes.size() + other.changes.size() == 2; }));
  value_or_throw(
      keys.authority.revoke(value_or_throw(Identity::of_role("orders", Role::client, "shop")), fabric::tls::test::now()));
  REQUIRE(until([&] { return pair.client.changes.back() == SessionChange::lost; }));
  CHECK(pair.server.transport->connections() == 1);
  other.call(100);
  REQUIRE(until([&] { return other.answers.size() == 1; }));
  CHECK(other.all_answered(1));
}

TEST_CASE("without keys only addresses of loopback are taken, unless it is said otherwise, and options are checked") {
  const auto refused = [](StreamOptions options) {
    const auto opened = StreamTransport::open(std::move(options));
    return opened ? std::optional<ErrorKind>() : opened.error().kind();
  };
  StreamOptions options;
  options.listen = "0.0.0.0:0";
  CHECK(refused(options) == ErrorKind::unsupported);
  options.unproven = true;
  CHECK_FALSE(refused(options));
  CHECK(opened({})->call(NodeId(1), "192.0.2.1:7000").error().kind() == ErrorKind::unsupported);
  CHECK(refused({.payload_bytes = 100}) == ErrorKind::bad_argument);
  CHECK(refused({.payload_bytes = 60'000, .output_bytes_max = 100'000}) == ErrorKind::bad_argument);
  TcpNode server(TcpNode::listening());
  options.listen = server.transport->address();
  CHECK(refused(options) == ErrorKind::resource);
}

TEST_CASE("a sleep ends when something comes") {
  Pair pair;
  REQUIRE(pair.until([&] { return pair.client.changes.size() == 1; }));
  while (pair.server.endpoint.step(now())) continue;
  CHECK_FALSE(pair.server.transport->wait(Duration::zero()));
  pair.client.call(1);
  pair.client.endpoint.step(now());
  CHECK(pair.server.transport->wait(std::chrono::seconds(10)));
}

TEST_CASE("each connection has as many sessions as the server's options say, whatever others have") {
  RpcOptions bounded = patient_options();
  bounded.route_sessions_max = 1;
  TcpNode server(TcpNode::listening(), bounded), one, other;
  one.connect(server);
  other.connect(server);
  const auto until = [&](const std::function<bool()>& done) { return stepped_until({&one, &other, &server}, done); };
  REQUIRE(until([&] { return one.changes.size() + other.changes.size() == 2; }));
  CHECK(one.changes.back() == SessionChange::connected);
  CHECK(other.changes.back() == SessionChange::connected);
  static_cast<void>(value_or_throw(one.endpoint.connect(one.route, one)));
  REQUIRE(until([&] { return one.changes.size() == 2; }));
  CHECK(one.changes.back() == SessionChange::no_credits);
}

TEST_CASE("a name that several addresses have is called at each by turns") {
  const fabric::tls::test::TemporaryDirectory scratch;
  const std::string hosts = scratch.path() + "/hosts";
  std::ofstream(hosts) << "127.3.3.1 twofold\n127.3.3.2 twofold\n192.0.2.1 beyond\n";
  StreamOptions listening = TcpNode::listening();
  listening.listen = "127.3.3.2:0";
  TcpNode server(listening), client;
  const std::string port = server.transport->address().substr(server.transport->address().rfind(':'));
  std::vector<PacketRoute> routes;
  std::string failure;
  bool beyond = true;
  // Names are this thread's alone, as its mounts are.
  std::thread([&] {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0) {
      failure = "no mounts of its own: " + std::string(std::strerror(errno));
      return;
    }
    for (std::size_t turn = 0; turn < 2; ++turn) {
      const auto route = client.transport->call("twofold" + port, turn);
      if (!route) failure = route.error().to_string();
      if (route) routes.push_back(*route);
    }
    beyond = client.transport->call("beyond" + port, 0).ok();
  }).join();
  CHECK(failure == "");
  CHECK_FALSE(beyond);  // without keys
  REQUIRE(routes.size() == 2);
  const auto is_settled = [&](const PacketRoute& route) {
    const auto peer = client.transport->peer(route);
    return !peer || peer->connected;
  };
  REQUIRE(stepped_until({&client, &server}, [&] { return is_settled(routes[0]) && is_settled(routes[1]); }));
  CHECK(client.transport->peer(routes[0]).has_value() != client.transport->peer(routes[1]).has_value());
}

}  // namespace
}  // namespace spindrift::rpc::test
