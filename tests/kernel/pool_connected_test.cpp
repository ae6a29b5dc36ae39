// Connected queue pairs come and go in the background, and the virtual ones on them notice nothing.
#include "pool_fixture.hpp"

#include <map>

#include <spindrift/core/counters.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

PoolOptions with_connected(std::uint32_t most) {
  PoolOptions options;
  options.connected_max = most;
  options.promote_posts = 10;
  options.sample_period = std::chrono::milliseconds(1);
  return options;
}

/// Posts requests one by one, within a sample period.
template <class... Nodes>
void post_many(SimNetwork& network, Node& from, PairId pair, const Node& to, int requests, Nodes&... others) {
  for (int i = 0; i < requests; ++i) {
    CHECK(from.post(pair, {from.write(to, from.put("talk"), 8)}) == 1);
    settle(network, from, others...);
    from.take();
  }
}

/// Posts to the peer for one sample period and lets what follows from it happen.
template <class... Nodes>
void talk(SimNetwork& network, Node& from, PairId pair, const Node& to, int requests, Nodes&... others) {
  post_many(network, from, pair, to, requests, others...);
  from.now += std::chrono::milliseconds(2);
  settle(network, from, others...);
}

/// A pair that knows its peer's, which has taken a message of it.
PairId acquainted(SimNetwork& network, Node& from, Node& to, PairId* accepted = nullptr) {
  REQUIRE(to.pool->bind(Port(1), to.completions, 8).ok());
  const PairId pair = from.pair(to);
  CHECK(from.post(pair, {from.send(from.put("first"))}) == 1);
  settle(network, from, to);
  CHECK(to.pop(Port(1), accepted) == "first");
  return pair;
}

}  // namespace

TEST_CASE("a peer that is talked to much gets a connected queue pair, and the virtual ones move there") {
  SimNetwork network(1);
  const bool proves = GENERATE(true, false);
  Node a(network, 0, {.proves = proves}, with_connected(4));
  Node b(network, 1, {.proves = proves});
  Node c(network, 2, {.proves = proves});
  const PairId to_b = acquainted(network, a, b);
  const PairId to_c = a.pair(c);
  talk(network, a, to_c, c, 5, b, c);
  talk(network, a, to_b, b, 20, b, c);
  CHECK(a.pool->counts().connected == 1);
  CHECK(a.pool->counts().moves == 1);
  // And goes on there, one-sided and two-sided.
  CHECK(a.post(to_b, {a.write(b, a.put("moved"), 64), a.send(a.put("second", 32))}) == 2);
  settle(network, a, b, c);
  CHECK(b.text(64, 5) == "moved");
  CHECK(b.pop() == "second");
  CHECK(a.take().size() == 2);
  const PairId later = a.pair(b);  // finds it there
  CHECK(a.post(later, {a.write(b, a.put("later"), 128)}) == 1);
  settle(network, a, b, c);
  CHECK(b.text(128, 5) == "later");
  CHECK(a.pool->counts().moves == 1);
}

TEST_CASE("without messages, and completions that prove nothing, a virtual queue pair stays where it is") {
  SimNetwork network(2);
  Node a(network, 0, {.proves = false}, with_connected(4));
  Node b(network, 1, {.proves = false});
  const PairId pair = a.pair(b, Port(1), {.messages = false});
  talk(network, a, pair, b, 20, b);
  CHECK(a.pool->counts().connected == 1);
  CHECK(a.pool->counts().moves == 0);
  CHECK(a.post(pair, {a.write(b, a.put("stays"), 64)}) == 1);
  settle(network, a, b);
  CHECK(b.text(64, 5) == "stays");
}

TEST_CASE("the connected queue pair that is used least goes for one that is used more") {
  SimNetwork network(3);
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  Node c(network, 2);
  const PairId to_b = a.pair(b);
  const PairId to_c = a.pair(c);
  talk(network, a, to_b, b, 20, b, c);
  CHECK(a.pool->counts().connected == 1);
  talk(network, a, to_c, c, 40, b, c);
  talk(network, a, to_c, c, 40, b, c);
  CHECK(a.pool->counts().connected == 2);
  CHECK(a.pool->counts().moves == 3);  // there, back, and the other one there
  CHECK(a.post(to_b, {a.write(b, a.put("back"), 64)}) == 1);
  CHECK(a.post(to_c, {a.write(c, a.put("there", 32), 64)}) == 1);
  settle(network, a, b, c);
  CHECK(b.text(64, 4) + c.text(64, 5) == "backthere");
}

TEST_CASE("of several connected queue pairs the idle one goes for a newcomer, however busy another is") {
  SimNetwork network(4);
  Node a(network, 0, {}, with_connected(2));
  Node b(network, 1);
  Node c(network, 2);
  Node d(network, 3);
  const PairId to_b = a.pair(b);
  const PairId to_c = a.pair(c);
  const PairId to_d = a.pair(d);
  talk(network, a, to_b, b, 20, b, c, d);
  talk(network, a, to_c, c, 20, b, c, d);
  CHECK(a.pool->counts().connected == 2);
  for (int period = 0; period < 2; ++period) {
    post_many(network, a, to_c, c, 30, b, c, d);
    talk(network, a, to_d, d, 40, b, c, d);
  }
  CHECK(a.pool->counts().connected == 3);
  CHECK(a.pool->counts().moves == 4);  // three there, and the one of b back
}

TEST_CASE("a connected queue pair that breaks by one's fault carries the others' requests back") {
  SimNetwork network(GENERATE(range(1U, 20U)));
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  const PairId good = a.pair(b);
  const PairId bad = a.pair(b);
  talk(network, a, good, b, 20, b);
  REQUIRE(a.pool->counts().moves == 2);
  Request wrong = a.write(b, a.put("x"), 0, 99);
  wrong.remote_key = 12345;
  CHECK(a.post(good, {a.write(b, a.put("one", 0), 0, 1)}) == 1);
  CHECK(a.post(bad, {wrong}) == 1);
  CHECK(a.post(good, {a.write(b, a.put("two", 64), 8, 2), a.write(b, a.put("three", 128), 16, 3)}) == 2);
  settle(network, a, b);
  std::vector<std::uint64_t> done;
  for (const Completion& completion : a.take()) {
    if (completion.pair != good) continue;
    CHECK(completion.status == OperationStatus::done);
    done.push_back(completion.context);
  }
  CHECK(done == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(b.text(0, 3) + b.text(8, 3) + b.text(16, 5) == "onetwothree");
  CHECK(a.pool->failure(bad) == OperationStatus::access_refused);
}

TEST_CASE(
    "a connected queue pair that breaks where completions prove nothing fails those on it, for what they wrote may be "
    "lost") {
  SimNetwork network(5);
  Node a(network, 0, {.proves = false}, with_connected(1));
  Node b(network, 1, {.proves = false});
  const PairId pair = acquainted(network, a, b);
  const PairId elsewhere = a.pair(b, Port(1), {.messages = false});
  talk(network, a, pair, b, 20, b);
  REQUIRE(a.pool->counts().moves == 1);
  Request wrong = a.read(b, std::span(a.memory).first(8), 0, 99);
  wrong.remote_key = 12345;
  CHECK(a.post(pair, {wrong}) == 1);
  settle(network, a, b);
  CHECK(a.pool->failure(pair) == OperationStatus::access_refused);
  CHECK_FALSE(a.pool->failure(elsewhere));
}

TEST_CASE("a peer that cannot be connected to is talked to without") {
  SimNetwork network(4);
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  const PairId pair = a.pair(b);
  post_many(network, a, pair, b, 20, b);
  a.now += std::chrono::milliseconds(2);
  a.progress();  // calls
  network.kill(*b.device);
  settle(network, a);
  CHECK(a.pool->counts().connected == 0);
  CHECK_FALSE(a.pool->failure(pair));
  CHECK(a.post(pair, {a.write(b, a.put("talk"), 8)}) == 1);
  settle(network, a);
  CHECK(a.pool->failure(pair) == OperationStatus::peer_lost);
}

TEST_CASE("a virtual queue pair on its way to a connected queue pair that is taken away goes elsewhere") {
  SimNetwork network(6);
  Node a(network, 0, {.proves = false}, with_connected(1));
  Node b(network, 1, {.proves = false});
  Node c(network, 2, {.proves = false});
  const PairId to_b = acquainted(network, a, b);
  const PairId to_c = a.pair(c);
  settle(network, a, b, c);
  post_many(network, a, to_b, b, 20, b, c);
  a.now += std::chrono::milliseconds(2);
  settle(network, a, c);  // asks b whether all has arrived, who is busy
  REQUIRE(a.pool->counts().connected == 1);
  REQUIRE(a.pool->counts().moves == 1);
  talk(network, a, to_c, c, 40, c);     // takes the place
  settle(network, a, b, c);             // b answers
  CHECK(b.pool->counts().breaks == 1);  // the queue pair that was taken away is gone
  CHECK(a.post(to_b, {a.write(b, a.put("works"), 64)}) == 1);
  settle(network, a, b, c);
  CHECK(b.text(64, 5) == "works");
}

TEST_CASE("a peer that was lost may be connected to again when its pairs are closed, though it had a connected queue pair") {
  SimNetwork network(8);
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  const PairId pair = a.pair(b);
  talk(network, a, pair, b, 20, b);
  REQUIRE(a.pool->counts().connected == 1);
  a.pool->on_peer_lost(b.device->metadata());
  CHECK(a.pool->failure(pair) == OperationStatus::peer_lost);
  a.pool->close(pair);
  settle(network, a, b);
  CHECK(a.device->resolved() == 0);
  const PairId again = a.pair(b);
  CHECK(a.post(again, {a.write(b, a.put("again"), 64)}) == 1);
  settle(network, a, b);
  CHECK(b.text(64, 5) == "again");
}

TEST_CASE("large messages go on being fetched after a queue pair that fetched one broke by another's fault") {
  SimNetwork network(9);
  Node a(network, 0, {.proves = false}, with_connected(1));
  Node b(network, 1, {.proves = false});
  REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
  const PairId busy = a.pair(b, Port(1), {.messages = false});
  const PairId pair = a.pair(b);
  CHECK(a.post(pair, {a.send(a.put("first", 8192))}) == 1);
  talk(network, a, busy, b, 20, b);
  REQUIRE(a.pool->counts().connected == 1);
  REQUIRE(a.pool->counts().moves == 0);  // the peer's pair is not known yet, so it stays
  PairId back;
  CHECK(b.pop(Port(1), &back) == "first");
  const auto fetch = [&](char character) {
    CHECK(b.post(back, {b.send(b.put(std::string(3000, character)))}) == 1);
    settle(network, a, b);
    CHECK(a.message(pair) == std::string(3000, character));
    settle(network, a, b);
    b.take();
  };
  fetch('A');  // over the connected queue pair
  const PairId bad = a.pair(b);
  Request wrong = a.read(b, std::span(a.memory).first(8), 0, 99);
  wrong.remote_key = 12345;
  CHECK(a.post(bad, {wrong}) == 1);
  settle(network, a, b);
  REQUIRE(a.pool->counts().breaks == 1);
  CHECK_FALSE(a.pool->failure(pair));
  fetch('B');
  CHECK_FALSE(a.pool->failure(pair));
}

TEST_CASE("a virtual queue pair whose peer has closed its end and answers nothing stays where it is, and works") {
  SimNetwork network(7);
  Node a(network, 0, {.proves = false}, with_connected(1));
  Node b(network, 1, {.proves = false});
  PairId accepted;
  const PairId pair = acquainted(network, a, b, &accepted);
  settle(network, a, b);
  b.pool->close(accepted);
  talk(network, a, pair, b, 20, b);
  REQUIRE(a.pool->counts().moves == 1);
  for (int period = 0; period < 2; ++period) {
    a.now += std::chrono::milliseconds(2);
    settle(network, a, b);
  }
  CHECK(a.post(pair, {a.write(b, a.put("stays"), 64)}) == 1);
  settle(network, a, b);
  CHECK(b.text(64, 5) == "stays");
}

TEST_CASE("what a broken connected queue pair left is carried out, though others keep the shared queue pair full") {
  SimNetwork network(10);
  Node a(network, 0, {.send_depth = 8}, with_connected(1));
  Node b(network, 1);
  Node c(network, 2);
  const PairId good = a.pair(b);
  const PairId bad = a.pair(b);
  const std::array flooders{a.pair(c), a.pair(c), a.pair(c)};
  talk(network, a, good, b, 20, b, c);
  REQUIRE(a.pool->counts().moves == 2);
  Request wrong = a.write(b, a.put("x"), 0, 99);
  wrong.remote_key = 12345;
  const Request write = a.write(b, a.put("left", 64), 8, 1);
  const std::vector<Request> flood(8, a.write(c, a.put("flood", 128), 0, 2));
  const auto post_flood = [&] {
    for (const PairId flooder : flooders) a.post(flooder, flood);
  };
  post_flood();
  CHECK(a.post(bad, {wrong}) == 1);
  CHECK(a.post(good, {write, write, write, write}) == 4);
  std::size_t done = 0;
  for (int round = 0; round < 300; ++round) {
    network.step();
    a.progress();
    for (const Completion& completion : a.take()) done += static_cast<std::size_t>(completion.pair == good);
    post_flood();
  }
  REQUIRE(a.pool->counts().breaks == 1);
  CHECK(done == 4);
  CHECK_FALSE(a.pool->failure(good));
}

TEST_CASE("a connected queue pair is made to where the peer was introduced, not to where it is named") {
  SimNetwork network(60);
  Node a(network, 0, {}, with_connected(1));
  Node named(network, 1);
  Node introduced(network, 2);
  const PairId pair = a.pair(named);
  a.pool->introduce(pair, introduced.device->metadata());
  CHECK(a.post(pair, {a.write(named, a.put("before"), 64)}) == 1);  // by its name, as long as that is the only way
  settle(network, a, named, introduced);
  CHECK(named.text(64, 6) == "before");
  talk(network, a, pair, named, 20, named, introduced);
  CHECK(a.pool->counts().moves == 1);
  CHECK(a.post(pair, {a.write(introduced, a.put("after"), 64)}) == 1);
  settle(network, a, named, introduced);
  CHECK(introduced.text(64, 5) == "after");
}

TEST_CASE("an introduction is of the peer, by whichever of its pairs, and the last one counts") {
  SimNetwork network(61);
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  Metadata nobody;
  nobody.size = 1;  // of no device of this network
  const PairId one = a.pair(b);
  const PairId other = a.pair(b);
  a.pool->introduce(other, nobody);
  talk(network, a, one, b, 20, b);
  CHECK(a.pool->counts().connected == 0);
  a.pool->introduce(one, b.device->metadata());
  talk(network, a, one, b, 20, b);
  CHECK(a.pool->counts().connected == 1);
}

TEST_CASE("an introduction that is too long, or of a pair that is bound to nobody, changes nothing") {
  SimNetwork network(62);
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  Metadata nobody;
  nobody.size = 1;
  Metadata endless = b.device->metadata();
  endless.size = Metadata::bytes_max + 1;
  const PairId unbound = value_or_throw(a.pool->create(a.completions, {}));
  a.pool->introduce(unbound, nobody);
  REQUIRE(a.pool->connect(unbound, b.device->metadata(), Port(1)).ok());
  a.pool->introduce(unbound, endless);
  a.pool->introduce(PairId(12345), nobody);
  talk(network, a, unbound, b, 20, b);
  CHECK(a.pool->counts().connected == 1);
}

TEST_CASE("what an operator may want to see of a pool is counted where everybody on the host can read it") {
  SimNetwork network(63);
  Node a(network, 0, {}, with_connected(1));
  Node b(network, 1);
  CounterBlock block = CounterBlock::in_memory(8);
  const auto shown = [&] {
    std::map<std::string, std::uint64_t> values;
    for (const CounterValue& each : block.values()) values[each.name] = each.value;
    return values;
  };
  const PairId before = a.pair(b);
  a.pool->count_in(&block);
  std::map<std::string, std::uint64_t> expected{{"vq.pairs", 1},  {"vq.connected_made", 0}, {"vq.pairs_moved", 0},
                                                {"vq.breaks", 0}, {"vq.replays", 0},        {"vq.rejected_messages", 0}};
  CHECK(shown() == expected);
  const PairId pair = a.pair(b);
  PhysicalEvent stranger;
  stranger.kind = PhysicalEvent::Kind::received;
  stranger.bytes = std::as_bytes(std::span("no message of a pool"));
  a.device->report(stranger);
  CHECK(a.post(pair, {a.write(b, a.put("again"), 64)}) == 1);
  a.device->break_down();
  settle(network, a, b);
  expected["vq.pairs"] = 2;
  expected["vq.rejected_messages"] = 1;
  expected["vq.breaks"] = 1;
  expected["vq.replays"] = 1;
  CHECK(shown() == expected);
  CHECK(b.text(64, 5) == "again");
  a.pool->close(before);
  talk(network, a, pair, b, 20, b);
  expected["vq.pairs"] = 1;
  expected["vq.connected_made"] = 1;
  expected["vq.pairs_moved"] = 1;
  CHECK(shown() == expected);
  a.pool->count_in(nullptr);
  a.pool->close(pair);
  settle(network, a, b);
  CHECK(shown() == expected);
}
