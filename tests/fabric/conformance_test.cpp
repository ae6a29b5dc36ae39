// The promises of every provider about links and messages.
#include "../sanitized.hpp"
#include "harness.hpp"

#include <string_view>
#include <thread>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using spindrift::test::rounds_of;

namespace {

/// A message each way proves the link; then no second `connected` may have come.
void require_one_link(Endpoint& a, Endpoint& b) {
  const PeerId b_at_a = await(a, Event::Kind::connected, {&b}).peer;
  const PeerId a_at_b = await(b, Event::Kind::connected, {&a}).peer;
  send(a, b_at_a, "to b");
  send(b, a_at_b, "to a");
  REQUIRE(text_of(await(b, Event::Kind::message, {&a})) == "to b");
  REQUIRE(text_of(await(a, Event::Kind::message, {&b})) == "to a");
  REQUIRE(a.inbox.empty());
  REQUIRE(b.inbox.empty());
}

}  // namespace

TEST_CASE("two processes link once, whoever starts first and whoever asks", "[slow]") {
  const auto provider = GENERATE(from_range(providers()));
  const bool lower_first = GENERATE(true, false);
  const int who_asks = GENERATE(1, 2, 3);
  CAPTURE(provider.name, lower_first, who_asks);
  const TemporaryDirectory directory;
  const std::uint32_t early_id = lower_first ? 1 : 2;
  const std::uint32_t late_id = lower_first ? 2 : 1;

  Endpoint early(early_id, provider.make(NodeId(early_id), directory.path()));
  if ((who_asks & 1) != 0) early.connect(NodeId(late_id));
  Endpoint late(late_id, provider.make(NodeId(late_id), directory.path()));
  if ((who_asks & 2) != 0) late.connect(early);
  require_one_link(early, late);
}

TEST_CASE("two processes that call each other at the same moment link once", "[slow]") {
  const auto provider = GENERATE(from_range(providers()));
  CAPTURE(provider.name);
  // Virtual queue pairs, of which each round starts two pools, call as often as others where they are tried by themselves.
  const int rounds = rounds_of(std::string_view(provider.name).find("+vq") == std::string_view::npos ? 50 : 10);
  for (int round = 0; round < rounds; ++round) {
    const TemporaryDirectory directory;
    Endpoint a(1, provider.make(NodeId(1), directory.path()));
    Endpoint b(2, provider.make(NodeId(2), directory.path()));
    std::thread other([&] { b.connect(a); });
    a.connect(b);
    other.join();
    require_one_link(a, b);
  }
}

TEST_CASE("connected says which node the peer claims to be") {
  const auto provider = GENERATE(from_range(providers()));
  const TemporaryDirectory directory;
  Endpoint a(7, provider.make(NodeId(7), directory.path()));
  Endpoint b(9, provider.make(NodeId(9), directory.path()));
  a.connect(b);
  REQUIRE(await(a, Event::Kind::connected, {&b}).node == NodeId(9));
  REQUIRE(await(b, Event::Kind::connected, {&a}).node == NodeId(7));
}

TEST_CASE("many processes link pairwise") {
  const auto provider = GENERATE(from_range(providers()));
  const TemporaryDirectory directory;
  std::deque<Endpoint> all;
  for (std::uint32_t id = 0; id < 6; ++id) {
    all.emplace_back(id, provider.make(NodeId(id), directory.path()));
    for (std::uint32_t peer = 0; peer < 6; ++peer) {
      if (peer != id) all.back().connect(NodeId(peer));
    }
  }
  const Time limit = now() + hang;
  const auto linked = [](const Endpoint& endpoint) { return endpoint.inbox.size() >= 5; };
  while (!std::all_of(all.begin(), all.end(), linked)) {
    for (Endpoint& endpoint : all) endpoint.pump();
    REQUIRE(now() < limit);
  }
  for (Endpoint& endpoint : all) {
    for (int i = 0; i < 5; ++i) await(endpoint, Event::Kind::connected);
  }
  for (Endpoint& endpoint : all) {
    endpoint.pump();
    REQUIRE(endpoint.inbox.empty());
  }
}

TEST_CASE("messages arrive whole and in order") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const std::size_t largest = pair.a.fabric->traits().message_bytes_max;
  const auto message = [&](std::size_t i) {
    const std::size_t length = i % 97 == 0 ? largest : (i * 31) % 1500;
    return std::to_string(i) + std::string(std::max(length, std::size_t{8}) - 8, static_cast<char>('a' + i % 26));
  };
  constexpr std::size_t count = 500;
  std::size_t received = 0;
  for (std::size_t i = 0; i < count; ++i) {
    send(pair.a, pair.b_at_a, message(i));
    if (i % 50 != 49) continue;
    for (; received <= i; ++received) REQUIRE(text_of(await(pair.b, Event::Kind::message, {&pair.a})) == message(received));
  }
}

TEST_CASE("a receiver that does not look keeps the order, and the sender does not wait for it") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  constexpr std::size_t count = 6000;
  for (std::size_t i = 0; i < count; ++i) send(pair.a, pair.b_at_a, std::to_string(i));
  for (std::size_t i = 0; i < count; ++i) {
    REQUIRE(text_of(await(pair.b, Event::Kind::message, {&pair.a})) == std::to_string(i));
  }
}

TEST_CASE("an exposure arrives in order with messages") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "between"));
  send(pair.a, pair.b_at_a, "before");
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::write));
  send(pair.a, pair.b_at_a, "after");
  drive({&pair.a, &pair.b}, [&] { return pair.b.inbox.size() == 3; });
  REQUIRE(text_of(pair.b.inbox[0]) == "before");
  REQUIRE(pair.b.inbox[1].kind == Event::Kind::exposed);
  REQUIRE(pair.b.inbox[1].region == region.key);
  REQUIRE(pair.b.inbox[1].region_bytes == 4096);
  REQUIRE(pair.b.inbox[1].access == Access::write);
  REQUIRE(text_of(pair.b.inbox[2]) == "after");
}

TEST_CASE("disconnect tells the other side and gives no event at this one") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  send(pair.a, pair.b_at_a, "last words");
  drive({&pair.a, &pair.b}, [&] { return pair.b.count(Event::Kind::message) == 1; });
  pair.a.fabric->disconnect(pair.b_at_a);
  const Event lost = await(pair.b, Event::Kind::lost, {&pair.a});
  REQUIRE(lost.peer == pair.a_at_b);
  REQUIRE(lost.reason);
  REQUIRE(lost.reason->message().find("closed the connection") != std::string::npos);
  pair.a.pump();
  REQUIRE(pair.a.inbox.empty());
}

TEST_CASE("operations to a lost peer are dropped, operations to a peer that never was are an error") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  pair.a.fabric->disconnect(pair.b_at_a);
  std::string text = "nobody hears";
  Operation operation = send_of(pair.b_at_a, text);
  operation.signaled = true;
  REQUIRE(pair.a.fabric->post({&operation, 1}).ok());
  operation.peer = PeerId(4711);
  const auto refused = pair.a.fabric->post({&operation, 1});
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::bad_argument);
  pair.a.pump();
  REQUIRE(pair.a.inbox.empty());
}

TEST_CASE("nothing that was asked of a peer completes after it was disconnected") {
  const auto provider = GENERATE(from_range(providers()));
  CAPTURE(provider.name);
  Pair pair(provider);
  std::string text = "one";
  Operation operation = send_of(pair.b_at_a, text);
  operation.signaled = true;
  value_or_throw(pair.a.fabric->post({&operation, 1}));
  pair.a.fabric->disconnect(pair.b_at_a);
  await(pair.b, Event::Kind::lost, {&pair.a});
  CHECK(pair.a.count(Event::Kind::completed) == 0);
}

TEST_CASE("after a disconnect the two can link again, as new peers") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  for (int round = 0; round < 20; ++round) {
    pair.a.fabric->disconnect(pair.b_at_a);
    pair.a.connect(pair.b);
    const Event again = await(pair.a, Event::Kind::connected, {&pair.b});
    REQUIRE(again.peer > pair.b_at_a);
    pair.b_at_a = again.peer;
    REQUIRE(await(pair.b, Event::Kind::lost, {&pair.a}).peer == pair.a_at_b);
    pair.a_at_b = await(pair.b, Event::Kind::connected, {&pair.a}).peer;
  }
  send(pair.a, pair.b_at_a, "still here");
  REQUIRE(text_of(await(pair.b, Event::Kind::message, {&pair.a})) == "still here");
}
