// Calls that come when they cannot be taken: of a peer that has started again while its former start is still being closed,
// and when places are short. A caller hears nothing of that, and waits.
#include "pool_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

TEST_CASE("a peer that starts again and calls before the pairs of its former start are closed is heard when they are") {
  SimNetwork network(GENERATE(range(1U, 10U)));
  Node server(network, 0);
  Node former(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 8).ok());
  const PairId to_former = server.pair(former);
  network.kill(*former.device);
  CHECK(server.post(to_former, {server.write(former, server.put("late"), 0)}) == 1);
  settle(network, server);
  REQUIRE(server.pool->failure(to_former) == OperationStatus::peer_lost);
  Node again(network, former);
  const PairId call = again.pair(server);
  CHECK(again.post(call, {again.send(again.put("here again"))}) == 1);
  settle(network, server, again);
  CHECK(server.pop() == "nothing");
  CHECK_FALSE(server.pool->is_due());
  server.pool->close(to_former);
  CHECK(server.pool->is_due());  // nothing comes that would wake who waits for this
  settle(network, server, again);
  PairId from;
  CHECK(server.pop(Port(1), &from) == "here again");
  CHECK(server.pool->counts().rejected == 0);
  CHECK(server.post(from, {server.send(server.put("welcome"))}) == 1);
  settle(network, server, again);
  CHECK(again.message(call) == "welcome");
}

TEST_CASE("a call that waits for a pair is no reason to look again before something was freed") {
  SimNetwork network(4);
  Node server(network, 0, {}, {.pairs_max = 1});
  Node a(network, 1);
  Node b(network, 2);
  REQUIRE(server.pool->bind(Port(1), server.completions, 8).ok());
  CHECK(a.post(a.pair(server), {a.send(a.put("first"))}) == 1);
  settle(network, server, a);
  CHECK(b.post(b.pair(server), {b.send(b.put("second"))}) == 1);
  settle(network, server, b);
  CHECK_FALSE(server.pool->is_due());
  PairId from;
  CHECK(server.pop(Port(1), &from) == "first");
  server.pool->close(from);
  settle(network, server, a);
  CHECK(server.pop() == "second");
}

TEST_CASE(
    "a call for which there is no place is heard when there is one, each once, and a bounded number waits for so long") {
  SimNetwork network(3);
  Node server(network, 0);
  Node a(network, 1);
  REQUIRE(server.pool->bind(Port(1), server.completions, 1).ok());
  for (std::size_t i = 0; i < 2 + Pool::waiting_calls_max; ++i) {
    CHECK(a.post(a.pair(server), {a.send(a.put(std::to_string(i), 16 * i))}) == 1);
    if (i == 1) a.device->break_down();  // one that waits may be said twice
    settle(network, server, a);
    CHECK(a.take().size() == 1);
  }
  CHECK(server.pool->counts().accepted == 1);
  CHECK(server.pool->counts().rejected == 1);
  for (std::size_t i = 0; i < 3; ++i) {
    PairId from;
    CHECK(server.pop(Port(1), &from) == std::to_string(i));
    CHECK(server.pop() == "nothing");
    server.pool->close(from);
    settle(network, server, a);
  }
  CHECK(server.pool->counts().rejected == 1);
  server.now += std::chrono::seconds(3);  // nobody waits any longer
  PairId from;
  CHECK(server.pop(Port(1), &from) == "3");
  server.pool->close(from);
  settle(network, server, a);
  CHECK(server.pop() == "nothing");
  CHECK(server.pool->counts().rejected == 1 + Pool::waiting_calls_max - 3);
}
