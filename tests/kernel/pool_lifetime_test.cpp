// Some things end while others are under way: pairs, a pool, a shared queue pair that cannot be repaired at once. Nothing of
// them is told twice, touched later or kept for ever.
#include "pool_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

TEST_CASE("a virtual queue pair that is closed twice is closed once") {
  SimNetwork network(1);
  Node a(network, 0);
  Node b(network, 1);
  const PairId pair = a.pair(b);
  CHECK(a.post(pair, {a.write(b, a.put("x"), 0, 1)}) == 1);
  a.pool->close(pair);
  a.pool->close(pair);
  CHECK(a.pool->counts().pairs == 1);
  settle(network, a, b);
  CHECK(a.pool->is_gone(pair));
  CHECK(a.pool->counts().pairs == 0);
  CHECK(a.device->resolved() == 0);
}

TEST_CASE("a closed virtual queue pair whose place is given to a stranger at once gives back all that it had") {
  SimNetwork network(GENERATE(range(1U, 8U)));  // the completion comes before the stranger's message, or after it
  Node server(network, 0, {}, {.pairs_max = 1});
  Node a(network, 1);
  Node b(network, 2);
  REQUIRE(server.pool->bind(Port(1), server.completions, 4).ok());
  const PairId closed = server.pair(b);
  CHECK(server.post(closed, {server.write(b, server.put("x"), 0, 1)}) == 1);
  CHECK(a.post(a.pair(server), {a.send(a.put("stranger"))}) == 1);
  server.pool->close(closed);
  network.run();
  settle(network, server, a, b);
  CHECK(server.pool->is_gone(closed));
  CHECK(server.take().empty());
  PairId from;
  if (server.pop(Port(1), &from) == "stranger") {
    CHECK(server.pool->counts().pairs == 1);
    CHECK(server.device->resolved() == 1);
    server.pool->close(from);
  }
  settle(network, server, a, b);
  CHECK(server.pool->counts().pairs == 0);
  CHECK(server.device->resolved() == 0);
}

TEST_CASE("a pool that is destroyed with requests and a fetch under way leaves nothing in its device") {
  SimNetwork network(2);
  Node server(network, 0);
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 4).ok());
  CHECK(a.post(a.pair(server), {a.send(a.put(std::string(5000, 'L')))}) == 1);
  network.run();
  server.progress();  // posts the read of it
  CHECK(server.device->registered() == 3);
  const PairId pair = server.pair(a);
  CHECK(server.post(pair, {server.write(a, server.put("x"), 0)}) == 1);
  server.pool.reset();
  CHECK(server.device->registered() == 0);
  CHECK(server.device->resolved() == 0);
  settle(network, a);
}

TEST_CASE("a shared queue pair that cannot be repaired says so each time, and goes on when it can") {
  SimNetwork network(3);
  Node a(network, 0);
  Node b(network, 1);
  const PairId pair = a.pair(b);
  CHECK(a.post(pair, {a.write(b, a.put("x"), 0, 1)}) == 1);
  a.device->break_down();
  a.device->refuse_resets(true);
  for (int round = 0; round < 3; ++round) {
    const auto progressed = a.pool->progress(a.now);
    REQUIRE_FALSE(progressed);
    CHECK(progressed.error().kind() == ErrorKind::resource);
  }
  a.device->refuse_resets(false);
  settle(network, a, b);
  CHECK(a.take().size() == 1);
  CHECK(a.post(pair, {a.write(b, a.put("y"), 0, 2)}) == 1);
  settle(network, a, b);
  CHECK(a.take().size() == 1);
  CHECK(a.pool->counts().breaks == 1);
}

TEST_CASE("a completion of nothing says nothing of a peer") {
  SimNetwork network(4);
  Node a(network, 0);
  Node b(network, 1);
  const PairId pair = a.pair(b);
  CHECK(a.post(pair, {a.write(b, a.put("x"), 0, 1)}) == 1);
  settle(network, a, b);
  PhysicalEvent late;
  late.kind = PhysicalEvent::Kind::completed;
  late.status = OperationStatus::peer_lost;
  late.id = std::uint64_t{1} << 32;  // the first use of the first slot, which is over
  a.device->report(late);
  settle(network, a, b);
  CHECK_FALSE(a.pool->failure(pair));
  const PairId another = a.pair(b);
  CHECK(a.post(another, {a.write(b, a.put("x"), 0, 2)}) == 1);
}

TEST_CASE("an accepted virtual queue pair that fails before its user has heard of it frees its place at the port") {
  SimNetwork network(5);
  Node server(network, 0, {}, {.fetch_bytes_max = 1000});
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 1).ok());
  CHECK(a.post(a.pair(server), {a.send(a.put(std::string(5000, 'L')))}) == 1);  // larger than the port takes
  settle(network, server, a);
  Request nowhere = a.send(a.put(std::string(800, 'N'), 6000));
  const PairId liar = a.pair(server);
  CHECK(a.post(liar, {nowhere}) == 1);
  a.device->deregister(a.keys);  // which the peer is to read it from
  settle(network, server, a);
  CHECK(server.pop() == "nothing");
  CHECK(a.post(a.pair(server), {a.send(a.put("small"))}) == 1);
  settle(network, server, a);
  CHECK(server.pool->counts().accepted == 3);
  PairId from;
  CHECK(server.pop(Port(1), &from) == "small");
  a.pool->on_peer_lost(server.device->metadata());
  server.pool->on_peer_lost(a.device->metadata());
  settle(network, server, a);
  CHECK(server.pool->failure(from) == OperationStatus::peer_lost);  // of this one its user knows
}

TEST_CASE("a large message from memory of which nobody ever learns fails its pair after the time for it") {
  struct Ignorant final : RemoteMemory {
    Verdict check(const Metadata&, std::uint64_t, std::uint64_t, std::size_t, fabric::Access) override {
      return Verdict::unknown;
    }
  } ignorant;
  SimNetwork network(6);
  PoolOptions options;
  options.remote = &ignorant;
  options.look_up_max = std::chrono::seconds(5);
  Node server(network, 0, {}, options);
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 1).ok());
  const PairId waits = a.pair(server);
  const PairId comes_later = a.pair(server);
  CHECK(a.post(waits, {a.send(a.put(std::string(5000, 'L')))}) == 1);
  settle(network, server, a);
  server.now += std::chrono::seconds(4);
  settle(network, server, a);
  CHECK(a.post(comes_later, {a.send(a.put("small", 6000))}) == 1);
  settle(network, server, a);
  CHECK(server.pool->counts().accepted == 1);  // there is one place, and it is taken
  server.now += std::chrono::seconds(2);
  settle(network, server, a);
  CHECK(server.pool->counts().accepted == 2);
  CHECK(server.pop() == "small");  // whose call had waited for the place
}
