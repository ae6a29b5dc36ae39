// The facts that a virtual queue pair needs of its peer come by one-sided reads of the meta servers, and are remembered.
#include "directory_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

/// A server, a peer that it knows as node 2, and a client.
struct Acquaintance {
  explicit Acquaintance(std::uint64_t seed, std::uint32_t records_max = 1024)
      : network(seed),
        server(network, 0),
        peer(network, 2),
        client(network, 1, {server.address(0)}, {.records_max = records_max}) {
    server.tell(2, peer);
  }

  void run() { drive(network, client, server.node, peer); }
  void find_peer() {
    client.directory.look_up(NodeId(2));
    run();
  }

  SimNetwork network;
  Server server;
  Node peer;
  Client client;
};

}  // namespace

TEST_CASE("a node is found by two reads of a meta server, and then known") {
  Acquaintance known(1);
  Client& client = known.client;
  Node& peer = known.peer;
  CHECK(client.directory.find(NodeId(2)) == nullptr);
  client.directory.look_up(NodeId(2));
  client.directory.look_up(NodeId(2));  // under way
  known.run();
  CHECK(answer_of(client) == MetaSearch::State::found);
  CHECK_FALSE(answer_of(client));
  CHECK(client.directory.reads() == 2);
  REQUIRE(client.directory.find(NodeId(2)) != nullptr);
  CHECK(client.directory.find(NodeId(2))->metadata == peer.device->metadata());
  CHECK(client.directory.reads() == 2);

  client.directory.look_up(NodeId(3));
  known.run();
  CHECK(answer_of(client) == MetaSearch::State::absent);
  client.directory.on_lost(NodeId(2));
  CHECK(client.directory.find(NodeId(2)) == nullptr);
}

TEST_CASE("when a meta server does not answer, or has not heard of a node, the next one is asked") {
  SimNetwork network(2);
  Server dead(network, 0);
  Server ignorant(network, 3);
  Server knowing(network, 4);
  Node peer(network, 2);
  knowing.tell(2, peer);
  Client client(network, 1, {dead.address(0), ignorant.address(3), knowing.address(4)});
  network.kill(*dead.node.device);
  for (int round = 0; round < 2; ++round) {
    client.directory.look_up(NodeId(2));
    drive(network, client, ignorant.node, knowing.node, peer);
    CHECK(answer_of(client) == MetaSearch::State::found);
    client.directory.on_lost(NodeId(2));
  }
  network.kill(*knowing.node.device);
  client.directory.look_up(NodeId(2));
  drive(network, client, ignorant.node, peer);
  CHECK(answer_of(client) == MetaSearch::State::unanswered);
}

TEST_CASE("a table that no correct server wrote is no answer") {
  Acquaintance known(3);
  Client& client = known.client;
  for (std::byte& byte : known.server.region) byte ^= std::byte{0x55};
  known.find_peer();
  CHECK(answer_of(client) == MetaSearch::State::unanswered);
}

TEST_CASE("more nodes than there are lookups at a time are all found") {
  SimNetwork network(4);
  Server server(network, 0);
  Node peer(network, 2);
  for (std::uint32_t number = 10; number < 90; ++number) server.tell(number, peer);
  Client client(network, 1, {server.address(0)});
  for (std::uint32_t number = 10; number < 90; ++number) client.directory.look_up(NodeId(number));
  drive(network, client, server.node, peer);
  for (int i = 0; i < 80; ++i) CHECK(answer_of(client) == MetaSearch::State::found);
}

TEST_CASE("a write to memory that is not known is looked up first, then it goes, for a lease") {
  Acquaintance known(5);
  known.server.tell_memory(2, known.peer);
  Client& client = known.client;
  Node& peer = known.peer;
  known.find_peer();
  const PairId pair = client.node.pair(peer);
  const Request good = client.node.write(peer, client.node.put("checked"), 40);
  CHECK(client.node.refused(pair, {good}) == ErrorKind::would_block);
  known.run();
  CHECK(client.node.post(pair, {good}) == 1);
  known.run();
  CHECK(peer.text(40, 7) == "checked");

  // Out of its range, or what it is not for, is refused before it reaches a shared queue pair.
  CHECK(client.node.refused(pair, {client.node.write(peer, client.node.put("beyond"), peer.target.size() - 2)}) ==
        ErrorKind::bad_argument);
  Request read = good;
  read.kind = Request::Kind::read;
  CHECK(client.node.refused(pair, {read}) == ErrorKind::bad_argument);
  // Memory that nobody registered is refused once it was looked up, and asked for anew after that.
  Request unknown = good;
  unknown.remote_key = 4711;
  CHECK(client.node.refused(pair, {unknown}) == ErrorKind::would_block);
  known.run();
  CHECK(client.node.refused(pair, {unknown}) == ErrorKind::bad_argument);
  CHECK(client.node.refused(pair, {unknown}) == ErrorKind::would_block);
  known.run();
  CHECK_FALSE(client.node.pool->failure(pair));
  CHECK(client.node.pool->counts().breaks == 0);

  client.clock.time += std::chrono::milliseconds(1001);  // the owner may have taken it back
  CHECK(client.node.refused(pair, {good}) == ErrorKind::would_block);
  known.run();
  CHECK(client.node.post(pair, {good}) == 1);
}

TEST_CASE("an answer that nobody has taken yet says no more that a node is found when it is lost meanwhile") {
  Acquaintance known(6);
  Client& client = known.client;
  known.find_peer();
  client.directory.on_lost(NodeId(2));
  CHECK(answer_of(client) == MetaSearch::State::unanswered);
}

TEST_CASE("what a lookup under way says of a node that is lost meanwhile is not remembered") {
  Acquaintance known(9);
  Client& client = known.client;
  known.server.tell(10, known.peer);
  client.directory.look_up(NodeId(10));
  known.run();  // the server is connected
  CHECK(answer_of(client) == MetaSearch::State::found);
  client.directory.look_up(NodeId(2));
  REQUIRE(client.directory.progress());
  REQUIRE(client.directory.reads() == 3);  // the first of its two is under way
  client.directory.on_lost(NodeId(2));
  known.run();  // the server has not heard of the loss, and answers with the start that is over
  CHECK(answer_of(client) == MetaSearch::State::unanswered);
  CHECK(client.directory.find(NodeId(2)) == nullptr);
  known.find_peer();
  CHECK(answer_of(client) == MetaSearch::State::found);
}

TEST_CASE("that memory is not there is told of the start of a node that was asked about, not of its next") {
  Acquaintance known(7);
  Client& client = known.client;
  Node& peer = known.peer;
  known.find_peer();
  const PairId pair = client.node.pair(peer);
  const Request write = client.node.write(peer, client.node.put("found"), 40);
  CHECK(client.node.refused(pair, {write}) == ErrorKind::would_block);
  known.run();  // it has registered none
  client.directory.on_lost(NodeId(2));
  known.server.tell_memory(2, peer);
  known.find_peer();
  CHECK(client.node.refused(pair, {write}) == ErrorKind::would_block);
  known.run();
  CHECK(client.node.post(pair, {write}) == 1);
}

TEST_CASE("more absent memory than is remembered is refused still, each after it was looked up") {
  Acquaintance known(8, 1);
  Client& client = known.client;
  Node& peer = known.peer;
  known.find_peer();
  const PairId pair = client.node.pair(peer);
  Request forgotten = client.node.write(peer, client.node.put("x"), 40);
  forgotten.remote_key = 4711;
  Request write = forgotten;
  write.remote_key = 4712;
  CHECK(client.node.refused(pair, {forgotten}) == ErrorKind::would_block);
  known.run();
  CHECK(client.node.refused(pair, {write}) == ErrorKind::would_block);
  known.run();
  CHECK(client.node.refused(pair, {write}) == ErrorKind::bad_argument);
}

TEST_CASE("a meta server that was lost is asked again when it is back") {
  Acquaintance known(9);
  Client& client = known.client;
  known.find_peer();
  REQUIRE(answer_of(client) == MetaSearch::State::found);
  client.directory.on_lost(NodeId(2));
  client.node.pool->on_peer_lost(known.server.node.device->metadata());  // the pair over which it was asked fails
  known.find_peer();
  CHECK(answer_of(client) == MetaSearch::State::found);
}
