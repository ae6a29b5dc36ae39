// How processes of a group find each other by the tables that they keep: whom they meet at its address, whom they look up,
// and that an entry of an earlier start is used for nothing.
#include "directory_fixture.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/log.hpp>
#include <spindrift/core/log_file.hpp>
#include <spindrift/kernel/provider/finder.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;
using spindrift::kernel::vq::Finder;
using spindrift::kernel::vq::Introduction;
using spindrift::kernel::vq::Route;
using std::chrono::milliseconds;
using Way = Route::Way;

namespace {

constexpr std::uint32_t nodes = 6;

std::vector<fabric::Address> roster() {
  std::vector<fabric::Address> all;
  for (std::uint32_t node = 0; node < nodes; ++node)
    all.push_back({NodeId(node), "10.0.0." + std::to_string(node + 1) + ":7400"});
  return all;
}

VqOptions options(NodeId self) {
  VqOptions options;
  options.self = self;
  options.roster = roster();
  return options;
}

bool any_will_do(NodeId, const Metadata&) { return true; }

/// One start of one node.
struct Member {
  Member(SimNetwork& network, std::uint32_t number, std::uint64_t start, Finder::Plausible plausible = any_will_do)
      : id(number), incarnation(start), finder(options(id), std::move(plausible), clock), node(network, number) {
    lines.resize(value_or_throw(finder.table_bytes()) / sizeof(Line));
    const std::span table(reinterpret_cast<std::byte*>(lines.data()), lines.size() * sizeof(Line));
    keys = node.registered(table, fabric::Access::read);
    value_or_throw(finder.open(*node.pool, table, {incarnation, node.device->metadata()}));
    finder.count_in(&counters);
  }

  /// Tells it that a link with `other` is up.
  void hear(const Member& other, Way way = Way::wait) {
    finder.on_linked({.node = other.id,
                      .record = {other.incarnation, other.node.device->metadata()},
                      .table = {other.keys.remote_key, other.keys.remote_base, other.finder.table().geometry()},
                      .reached_by = other.node.device->metadata(),
                      .way = way});
  }
  void end(const Member& other) { finder.on_unlinked(other.id, other.incarnation); }
  Route route(std::uint32_t to) { return finder.route_to(NodeId(to)); }
  std::uint64_t count(const std::string& name) const {
    for (const CounterValue& each : counters.values()) {
      if (each.name == "vq." + name) return each.value;
    }
    FAIL("there is no counter " + name);
    return 0;
  }

  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  const NodeId id;
  const std::uint64_t incarnation;
  HandClock clock;
  std::vector<Line> lines;
  MemoryKeys keys;
  CounterBlock counters = CounterBlock::in_memory(16);
  Finder finder;
  Node node;
};

void link(Member& one, Member& other, Way way = Way::by_address) {
  one.hear(other, way);
  other.hear(one);
}

/// As many passes as two lookups take in all; whom `member` is to call then.
template <class... Members>
std::vector<NodeId> run(SimNetwork& network, Member& member, Members&... others) {
  std::vector<NodeId> ready;
  for (int pass = 0; pass < 8; ++pass) {
    settle(network, member.node, others.node...);
    const auto now = member.finder.progress();
    ready.insert(ready.end(), now.begin(), now.end());
  }
  return ready;
}

}  // namespace

TEST_CASE("the first three nodes of different hosts keep the tables, alike in every process") {
  CHECK(vq_meta_servers(roster()) == std::vector{NodeId(0), NodeId(1), NodeId(2)});
  std::vector<fabric::Address> crowded = roster();
  crowded[1].endpoint = "10.0.0.1:7401";
  crowded[2].endpoint = "10.0.0.1:7402";
  CHECK(vq_meta_servers(crowded) == std::vector{NodeId(0), NodeId(3), NodeId(4)});
  CHECK(vq_meta_servers({}).empty());
}

TEST_CASE("a table has everybody whom its keeper is linked with if it keeps one for all, else the keeper alone") {
  SimNetwork network(1);
  Member server(network, 0, 100);
  Member other(network, 4, 400);
  Member third(network, 5, 500);
  link(server, other);
  link(server, third);
  link(other, third);
  CHECK(server.finder.table().size() == 3);
  CHECK(server.count("meta_table_nodes") == 3);
  CHECK(other.finder.table().size() == 1);
  server.end(third);
  CHECK(server.finder.table().size() == 2);
}

TEST_CASE("a newcomer meets one meta server at its address, and finds the others by two reads each") {
  SimNetwork network(2);
  Member seed(network, 0, 100);
  Member third(network, 3, 300);
  Member fourth(network, 4, 400);
  link(seed, third);
  link(seed, fourth);

  Member newcomer(network, 5, 500);
  std::uint32_t first = nodes;
  for (std::uint32_t node = 0; node < 5; ++node) {
    if (newcomer.route(node).way != Way::by_address) continue;
    CHECK(first == nodes);
    first = node;
  }
  CHECK(first < 3);  // a server
  CHECK(newcomer.route(3).way == Way::wait);
  newcomer.hear(seed, Way::by_address);
  CHECK(newcomer.count("links_by_address") == 1);
  for (const std::uint32_t node : {3u, 4u}) {
    CHECK(newcomer.route(node).way == Way::wait);  // asked now
    run(network, newcomer, seed);
    const Route route = newcomer.route(node);
    CHECK(route.way == Way::looked_up);
    CHECK(route.record.incarnation == 100 * node);
    CHECK(newcomer.route(node).way == Way::cached);
  }
  CHECK(newcomer.count("meta_reads") == 4);
  newcomer.hear(third, Way::looked_up);
  CHECK(newcomer.count("links_looked_up") == 1);
}

TEST_CASE("meta servers are met one after another, and then everybody, if none of them answers") {
  SimNetwork network(3);
  Member member(network, 5, 500);
  const auto at_their_addresses = [&] {
    std::size_t count = 0;
    for (std::uint32_t node = 0; node < 5; ++node) count += member.route(node).way == Way::by_address ? 1 : 0;
    return count;
  };
  CHECK(at_their_addresses() == 1);
  CHECK(member.finder.deadline() == member.clock.time + milliseconds(50));
  member.clock.time += milliseconds(50);
  CHECK(member.finder.progress().size() == 1);
  CHECK(member.finder.progress().empty());
  CHECK(at_their_addresses() == 2);
  member.clock.time += milliseconds(50);
  CHECK(at_their_addresses() == 3);
  member.clock.time += milliseconds(49);
  CHECK(at_their_addresses() == 3);
  member.clock.time += milliseconds(1);
  CHECK(at_their_addresses() == 5);
  CHECK(member.finder.deadline() == never);
  CHECK(member.route(nodes).way == Way::by_address);  // nobody of the roster
}

TEST_CASE("who waited for a meta server is looked up as soon as one is known") {
  SimNetwork network(4);
  Member seed(network, 0, 100);
  Member third(network, 3, 300);
  link(seed, third);
  Member newcomer(network, 5, 500);
  CHECK(newcomer.route(3).way == Way::wait);
  CHECK(newcomer.finder.progress().empty());
  newcomer.hear(seed);
  CHECK(newcomer.finder.progress() == std::vector{NodeId(3)});
  CHECK(newcomer.route(3).way == Way::wait);
  CHECK(run(network, newcomer, seed) == std::vector{NodeId(3)});
  CHECK(newcomer.route(3).way == Way::looked_up);
}

TEST_CASE("an entry of an earlier start leads to a call that comes to nothing, and then the address is taken") {
  SimNetwork network(5);
  Member seed(network, 0, 100);
  Member before(network, 3, 300);
  link(seed, before);  // and it has not noticed that this one is dead
  Member newcomer(network, 5, 500);
  newcomer.hear(seed);
  static_cast<void>(newcomer.route(3));
  run(network, newcomer, seed);
  CHECK(newcomer.route(3).record.incarnation == 300);
  newcomer.finder.on_call_failed(NodeId(3), true);  // 301 has answered
  CHECK(newcomer.count("meta_stale") == 1);
  CHECK(newcomer.route(3).way == Way::by_address);

  Member after(network, 3, 301);
  link(seed, after);
  seed.end(before);  // only now, and it takes nothing of the later start's away
  newcomer.hear(after, Way::by_address);
  newcomer.end(after);
  CHECK(newcomer.route(3).way == Way::wait);
  run(network, newcomer, seed);
  CHECK(newcomer.route(3).record.incarnation == 301);
}

TEST_CASE("a node that was lost or shut out is in no table and no cache any more") {
  SimNetwork network(6);
  Member seed(network, 0, 100);
  Member third(network, 3, 300);
  Member newcomer(network, 5, 500);
  link(seed, third);
  newcomer.hear(seed);
  newcomer.hear(third);
  newcomer.end(third);
  seed.end(third);
  CHECK(newcomer.route(3).way == Way::wait);
  CHECK(run(network, newcomer, seed) == std::vector{NodeId(3)});
  CHECK(newcomer.route(3).way == Way::by_address);
}

TEST_CASE("a lookup during which the node was lost is not used") {
  SimNetwork network(7);
  Member seed(network, 0, 100);
  Member third(network, 3, 300);
  Member newcomer(network, 5, 500);
  link(seed, third);
  newcomer.hear(seed);
  static_cast<void>(newcomer.route(3));
  static_cast<void>(newcomer.finder.progress());
  newcomer.end(third);  // of its other link
  run(network, newcomer, seed);
  CHECK(newcomer.route(3).way == Way::by_address);
}

TEST_CASE("a meta server whose link ended is asked no more, and its next start is") {
  SimNetwork network(8);
  Member third(network, 3, 300);
  Member newcomer(network, 5, 500);
  {
    Member seed(network, 0, 100);
    link(seed, third);
    newcomer.hear(seed);
    newcomer.end(seed);
  }
  CHECK(newcomer.route(3).way == Way::wait);
  CHECK(run(network, newcomer).empty());
  Member seed(network, 0, 101);
  link(seed, third);
  newcomer.hear(seed);
  CHECK(run(network, newcomer, seed) == std::vector{NodeId(3)});
  CHECK(newcomer.route(3).way == Way::wait);
  CHECK(run(network, newcomer, seed) == std::vector{NodeId(3)});
  CHECK(newcomer.route(3).way == Way::looked_up);
}

TEST_CASE("a meta server that leads elsewhere is counted and asked no more, and what it says of itself enters no table") {
  SimNetwork network(9);
  Member liar(network, 0, 100);
  Member honest(network, 1, 200);
  Member third(network, 3, 300);
  link(honest, third);
  const Metadata lie = liar.node.device->metadata();
  liar.finder.on_linked({.node = NodeId(3),
                         .record = {300, lie},
                         .table = {third.keys.remote_key, third.keys.remote_base, third.finder.table().geometry()},
                         .reached_by = lie});
  Member newcomer(network, 2, 500, [&](NodeId node, const Metadata& said) { return node != NodeId(3) || said != lie; });
  newcomer.hear(liar);
  newcomer.hear(honest);
  static_cast<void>(newcomer.route(3));
  run(network, newcomer, liar, honest);
  const Route route = newcomer.route(3);
  CHECK(route.way == Way::looked_up);
  CHECK(route.record.metadata == third.node.device->metadata());
  CHECK(newcomer.count("meta_faults") == 1);   // it asks the liar first
  CHECK(newcomer.finder.table().size() == 3);  // itself and the two; it keeps one for all

  Member impostor(network, 3, 666);
  newcomer.finder.on_linked(
      {.node = NodeId(3),
       .record = {666, lie},
       .table = {impostor.keys.remote_key, impostor.keys.remote_base, impostor.finder.table().geometry()},
       .reached_by = lie});
  CHECK(newcomer.finder.table().size() == 3);
}

TEST_CASE("a process whose device is not of its address is told of at once, and fills no log however often it links") {
  std::string path = (std::filesystem::temp_directory_path() / "spindrift-finder-XXXXXX").string();
  const FileDescriptor file(::mkstemp(path.data()));
  value_or_throw(log::configure(log::Level::warn, path));
  const auto lines = [&path] {
    REQUIRE(log::await_written(std::chrono::seconds(60)));
    std::ifstream file_of_log(path);
    std::vector<std::string> all;
    for (std::string line; std::getline(file_of_log, line);) all.push_back(line);
    return all;
  };
  SimNetwork network(10);
  Member impostor(network, 3, 300);
  Member newcomer(network, 2, 500, [](NodeId, const Metadata&) { return false; });
  newcomer.hear(impostor);
  CHECK(lines().size() == 1);
  for (int again = 0; again < 1000; ++again) newcomer.hear(impostor);
  CHECK(lines().size() == 1);
  newcomer.clock.time += std::chrono::seconds(10);
  newcomer.hear(impostor);
  CHECK(lines().size() == 2);
  CHECK_THAT(lines().back(), Catch::Contains("not in the meta table") && Catch::Contains("times=1001"));
  value_or_throw(log::configure(log::Level::warn, ""));
  std::filesystem::remove(path);
}

TEST_CASE("what a process says of its table and its device is checked whole") {
  const MetaGeometry geometry = value_or_throw(MetaKeeper::geometry_for(7));
  Introduction said{{0xfeed, 0x7000, geometry}, {}};
  said.metadata.size = 3;
  said.metadata.bytes[2] = std::byte{9};
  const std::vector<std::byte> good = encode(said);
  const auto heard = vq::decode_introduction(good);
  REQUIRE(heard);
  CHECK(heard->table == said.table);
  CHECK(heard->metadata == said.metadata);

  CHECK_FALSE(vq::decode_introduction({}));
  CHECK_FALSE(vq::decode_introduction(std::span(good).first(40)));  // no device
  std::vector<std::byte> bad = good;
  bad.resize(40 + Metadata::bytes_max + 1);
  CHECK_FALSE(vq::decode_introduction(bad));
  for (const std::size_t byte : {16U, 24U, 28U, 32U}) {  // fewer bytes than its parts need, or more parts
    bad = good;
    bad[byte] ^= std::byte{0xff};
    CAPTURE(byte);
    CHECK_FALSE(vq::decode_introduction(bad));
  }
  bad = good;
  for (const std::size_t byte : {15U, 23U}) bad[byte] = std::byte{0xff};  // it ends before it begins
  CHECK_FALSE(vq::decode_introduction(bad));
}
