// Losses and ends at awkward moments: while memory is looked up, before anybody heard, and by calls that cross.
#include "pool_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

/// The knowledge of peers' memory: none, until a test says so.
struct LookUp final : RemoteMemory {
  Verdict verdict = Verdict::unknown;
  std::size_t asked = 0;
  Verdict check(const Metadata&, std::uint64_t, std::uint64_t, std::size_t, fabric::Access) override {
    ++asked;
    return verdict;
  }
};

}  // namespace

TEST_CASE("a peer that is lost while its memory is looked up fails its pair, and the answer that comes late does nothing") {
  SimNetwork network(GENERATE(range(1U, 8U)));
  LookUp look_up;
  Node server(network, 0, {}, {.remote = &look_up});
  Node sender(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 8).ok());
  const PairId pair = sender.pair(server);
  CHECK(sender.post(pair, {sender.send(std::span(sender.memory).first(4000), 7)}) == 1);
  settle(network, server, sender);
  CHECK(server.pop() == "nothing");
  CHECK(look_up.asked > 0);
  const PairId accepted = **server.pool->next_accepted(Port(1));
  const bool says = GENERATE(true, false);  // somebody else knows of the loss, or an operation finds it
  network.kill(*sender.device);
  if (says) server.pool->on_peer_lost(sender.device->metadata());
  look_up.verdict = RemoteMemory::Verdict::allowed;
  settle(network, server);
  CHECK(server.pool->failure(accepted) == OperationStatus::peer_lost);
  CHECK(server.pop() == "nothing");
  server.pool->close(accepted);
  settle(network, server);
  CHECK(server.pool->is_gone(accepted));
  CHECK(server.pool->counts().pairs == 0);
  CHECK(server.device->resolved() == 0);
}

TEST_CASE("a write is not posted while the peer's memory is looked up, and is when it is known") {
  SimNetwork network(3);
  LookUp look_up;
  Node a(network, 0, {}, {.remote = &look_up});
  Node b(network, 1);
  const PairId pair = a.pair(b);
  CHECK(a.refused(pair, {a.write(b, a.put("word"), 0)}) == ErrorKind::would_block);
  look_up.verdict = RemoteMemory::Verdict::refused;
  CHECK(a.refused(pair, {a.write(b, a.put("word"), 0)}) == ErrorKind::bad_argument);
  look_up.verdict = RemoteMemory::Verdict::allowed;
  CHECK(a.post(pair, {a.write(b, a.put("word"), 0)}) == 1);
  settle(network, a, b);
  CHECK(b.text(0, 4) == "word");
  CHECK_FALSE(a.pool->failure(pair));
}

TEST_CASE("a pair that its caller closes before anybody heard it is heard all the same, and leaves nothing") {
  SimNetwork network(GENERATE(range(1U, 20U)));
  Node server(network, 0);
  Node caller(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 8).ok());
  const PairId pair = caller.pair(server);
  CHECK(caller.post(pair, {caller.send(caller.put("gone"))}) == 1);
  if (network.draw(2) == 0) network.step();
  caller.pool->close(pair);
  settle(network, server, caller);
  CHECK(caller.pool->is_gone(pair));
  PairId from;
  REQUIRE(server.pop(Port(1), &from) == "gone");
  CHECK(server.post(from, {server.send(server.put("answer"))}) == 1);
  settle(network, server, caller);
  CHECK(caller.pool->counts().pairs == 0);
  server.pool->close(from);
  settle(network, server, caller);
  CHECK(server.pool->counts().pairs == 0);
  CHECK(server.device->resolved() + caller.device->resolved() == 0);
}

TEST_CASE("calls that cross are two pairs, and nobody's messages are the other's") {
  SimNetwork network(GENERATE(range(1U, 20U)));
  Node a(network, 0);
  Node b(network, 1);
  REQUIRE(a.pool->bind(Port(1), a.completions, 8).ok());
  REQUIRE(b.pool->bind(Port(1), b.completions, 8).ok());
  const PairId to_b = a.pair(b);
  const PairId to_a = b.pair(a);
  CHECK(a.post(to_b, {a.send(a.put("from a"))}) == 1);
  CHECK(b.post(to_a, {b.send(b.put("from b"))}) == 1);
  if (network.draw(3) == 0) a.device->break_down();
  if (network.draw(3) == 0) b.device->break_down();
  settle(network, a, b);
  PairId at_a, at_b;
  CHECK(a.pop(Port(1), &at_a) == "from b");
  CHECK(b.pop(Port(1), &at_b) == "from a");
  CHECK(a.pop() == "nothing");
  CHECK(b.pop() == "nothing");
  CHECK(a.pool->counts().accepted == 1);
  CHECK(b.pool->counts().accepted == 1);
  CHECK((at_a != to_b && at_b != to_a));
  settle(network, a, b);  // who calls hears of the window with its first credit
  CHECK(a.post(at_a, {a.send(a.put("answer of a"))}) == 1);
  CHECK(a.post(to_b, {a.send(a.put("more of a", 64))}) == 1);
  settle(network, a, b);
  const auto answer = b.pool->take_message(to_a);
  REQUIRE(answer);
  CHECK(std::string(reinterpret_cast<const char*>(answer->data()), answer->size()) == "answer of a");
  CHECK(b.pop() == "more of a");
}

TEST_CASE("a call that comes late is heard as long as its caller waits, and not after") {
  SimNetwork network(5);
  Node server(network, 0, {}, {.call_wait_max = std::chrono::seconds(2)});
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 1).ok());
  const bool in_time = GENERATE(true, false);
  CHECK(a.post(a.pair(server), {a.send(a.put("first"))}) == 1);
  settle(network, server, a);
  CHECK(a.post(a.pair(server), {a.send(a.put("second"))}) == 1);
  settle(network, server, a);
  PairId from;
  CHECK(server.pop(Port(1), &from) == "first");
  server.now += in_time ? std::chrono::milliseconds(2000) : std::chrono::milliseconds(2001);
  server.pool->close(from);
  settle(network, server, a);
  CHECK(server.pop() == (in_time ? "second" : "nothing"));
  CHECK(server.pool->counts().rejected == (in_time ? 0 : 1));
}
