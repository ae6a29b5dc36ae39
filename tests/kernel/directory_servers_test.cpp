// A lookup outlives meta servers that lie, die, fall silent or go: it asks the next one, and uses nothing of theirs.
#include "directory_fixture.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;
using std::chrono::milliseconds;

namespace {

/// Two servers, of which the second knows the peer as node 2, and a client that asks them in their order.
struct TwoServers {
  explicit TwoServers(std::uint64_t seed, DirectoryOptions options = {})
      : network(seed),
        first(network, 10),
        second(network, 11),
        peer(network, 2),
        client(network, 1, {first.address(10), second.address(11)}, options) {
    second.tell(2, peer);
  }
  void run() { drive(network, client, first.node, second.node, peer); }
  std::optional<MetaSearch::State> look_up() {
    client.directory.look_up(NodeId(2));
    run();
    return answer_of(client);
  }
  [[nodiscard]] bool knows_the_peer() {
    const NodeRecord* const known = client.directory.find(NodeId(2));
    return known != nullptr && known->metadata == peer.device->metadata();
  }

  SimNetwork network;
  Server first;
  Server second;
  Node peer;
  Client client;
};

}  // namespace

TEST_CASE("a meta server that dies between the two reads of a lookup is no answer, and the next one is asked") {
  TwoServers group(1);
  group.first.tell(2, group.peer, 77);
  group.client.directory.look_up(NodeId(2));
  static_cast<void>(group.client.directory.progress());
  settle(group.network, group.client.node, group.first.node);
  static_cast<void>(group.client.directory.progress());
  REQUIRE(group.client.directory.reads() == 2);  // the second one is under way
  group.network.kill(*group.first.node.device);
  group.run();
  CHECK(answer_of(group.client) == MetaSearch::State::found);
  CHECK(group.client.directory.find(NodeId(2))->incarnation == 1);
}

TEST_CASE("when all meta servers are gone a lookup ends unanswered") {
  TwoServers group(2);
  group.network.kill(*group.first.node.device);
  group.network.kill(*group.second.node.device);
  CHECK(group.look_up() == MetaSearch::State::unanswered);
  group.client.directory.dismiss(NodeId(10));
  group.client.directory.dismiss(NodeId(11));
  CHECK_FALSE(group.client.directory.has_servers());
  CHECK(group.look_up() == MetaSearch::State::unanswered);
}

TEST_CASE("a record that no node has is its server's fault: the next one is asked, and that one no more") {
  TwoServers group(3);
  MetaValue impossible = encode(NodeRecord{1, group.peer.device->metadata()});
  impossible.back() = std::byte{1};
  value_or_throw(group.first.table->put(meta_key_of(NodeId(2)), impossible));
  CHECK(group.look_up() == MetaSearch::State::found);
  CHECK(group.knows_the_peer());
  const auto fault = group.client.directory.take_fault();
  REQUIRE(fault);
  CHECK(fault->server == NodeId(10));
  CHECK(fault->about == NodeId(2));
  CHECK_FALSE(group.client.directory.take_fault());

  const std::uint64_t before = group.client.directory.reads();
  group.client.directory.on_lost(NodeId(2));
  CHECK(group.look_up() == MetaSearch::State::found);
  CHECK(group.client.directory.reads() == before + 2);  // both of the second server

  group.client.directory.admit(group.first.address(10));  // its next link
  group.first.tell(2, group.peer);
  group.client.directory.dismiss(NodeId(11));
  group.client.directory.on_lost(NodeId(2));
  CHECK(group.look_up() == MetaSearch::State::found);
}

TEST_CASE("a record by which the node cannot be reached is its server's fault") {
  Metadata reachable;
  DirectoryOptions options;
  options.plausible = [&](NodeId, const Metadata& metadata) { return metadata == reachable; };
  TwoServers group(4, options);
  reachable = group.peer.device->metadata();
  group.first.tell(2, group.second.node);  // leads the client to somebody else
  CHECK(group.look_up() == MetaSearch::State::found);
  CHECK(group.knows_the_peer());
  CHECK(group.client.directory.take_fault()->server == NodeId(10));
}

TEST_CASE("a table whose numbers lead out of it is its server's fault") {
  TwoServers group(5);
  const MetaPlace place = place_of(meta_key_of(NodeId(2)), group.first.table->geometry());
  MetaCluster cluster;
  cluster.owner = place.cluster;
  cluster.slots[0] = {0x00ff'ffff, place.fingerprint};
  const MetaClusterWords words = encode(cluster, place.cluster);
  std::memcpy(group.first.region.data() + group.first.table->geometry().cluster_offset(place.cluster), words.data(),
              sizeof words);
  CHECK(group.look_up() == MetaSearch::State::found);
  CHECK(group.knows_the_peer());
  CHECK(group.client.directory.take_fault()->server == NodeId(10));
}

TEST_CASE("a meta server that stands still is passed over after a while, and asked again later") {
  TwoServers group(6, {.answer_max = milliseconds(100), .silent_for = milliseconds(1000)});
  Directory& directory = group.client.directory;
  directory.look_up(NodeId(2));
  static_cast<void>(directory.progress());
  CHECK(directory.deadline() == group.client.clock.time + milliseconds(100));
  group.client.clock.time += milliseconds(99);
  static_cast<void>(directory.progress());
  CHECK(directory.silences() == 0);
  group.client.clock.time += milliseconds(1);
  static_cast<void>(directory.progress());
  CHECK(directory.silences() == 1);
  CHECK(directory.reads() == 2);  // the second server's first
  group.run();                    // what the first one says now is heard by nobody
  CHECK(answer_of(group.client) == MetaSearch::State::found);
  CHECK(group.knows_the_peer());
  CHECK(directory.deadline() == never);

  group.first.tell(2, group.peer, 5);
  directory.on_lost(NodeId(2));
  CHECK(group.look_up() == MetaSearch::State::found);
  CHECK(directory.find(NodeId(2))->incarnation == 1);
  group.client.clock.time += milliseconds(1000);
  directory.on_lost(NodeId(2));
  CHECK(group.look_up() == MetaSearch::State::found);
  CHECK(directory.find(NodeId(2))->incarnation == 5);
}

TEST_CASE("however often servers stand still, lookups find memory for their reads again") {
  TwoServers group(7, {.lookups_max = 2, .silent_for = {}});
  for (int round = 0; round < 20; ++round) {
    group.client.directory.look_up(NodeId(2));
    static_cast<void>(group.client.directory.progress());
    group.client.clock.time += milliseconds(100);
    static_cast<void>(group.client.directory.progress());
    group.run();
    REQUIRE(answer_of(group.client) == MetaSearch::State::found);
    group.client.directory.on_lost(NodeId(2));
  }
  CHECK(group.client.directory.silences() == 20);
}

TEST_CASE("a lookup that waits for a server that goes is answered by the next one") {
  TwoServers group(8);
  group.client.directory.look_up(NodeId(2));
  static_cast<void>(group.client.directory.progress());
  group.client.directory.dismiss(NodeId(10));
  group.run();
  CHECK(answer_of(group.client) == MetaSearch::State::found);
  CHECK(group.client.node.pool->counts().breaks == 0);
}

TEST_CASE("servers are asked in the order that was chosen, whenever they were met") {
  SimNetwork network(9);
  Server far(network, 10);
  Server near(network, 11);
  Node peer(network, 2);
  far.tell(2, peer, 10);
  near.tell(2, peer, 11);
  Client client(network, 1, {}, {.order = {NodeId(11), NodeId(10)}});
  CHECK_FALSE(client.directory.has_servers());
  client.directory.admit(far.address(10));
  client.directory.admit(near.address(11));
  CHECK(client.directory.has_servers());
  client.directory.look_up(NodeId(2));
  drive(network, client, far.node, near.node, peer);
  CHECK(answer_of(client) == MetaSearch::State::found);
  CHECK(client.directory.find(NodeId(2))->incarnation == 11);
}
