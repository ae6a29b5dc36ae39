// Losses and ends at awkward moments: while memory is looked up, and before anybody heard.
#include "pool_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

/// What is known of peers' memory: nothing, until a test says so.
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
  CHECK(server.pool->failure(accepted) == Status::peer_lost);
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
