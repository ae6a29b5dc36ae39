// What `bench connect` measures with: nodes that are not there and lookups of them.
#include <catch2/catch.hpp>

#include <atomic>
#include <set>
#include <thread>

#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>

using namespace spindrift;
using namespace spindrift::bench;

namespace {

constexpr std::uint32_t nodes = 40;

/// A table that is kept by a thread.
struct KeptTable {
  KeptTable() {
    value_or_throw(keeper.start("net", nodes));
    thread = std::thread([this] {
      while (!ends.load(std::memory_order_relaxed)) {
        keeper.poll();
        std::this_thread::yield();
      }
    });
  }
  ~KeptTable() {
    ends.store(true, std::memory_order_relaxed);
    thread.join();
  }

  TableKeeper keeper;
  std::atomic<bool> ends{false};
  std::thread thread;
};

}  // namespace

TEST_CASE("nodes that are not there have metadata of their own each, which a device takes in") {
  const auto device = value_or_throw(open_loopback_device("net", {.send_depth = 16, .receive_buffers = 16}));
  std::set<kernel::Metadata, kernel::MetadataOrder> all{device->metadata()};
  std::set<kernel::PeerHandle> handles;
  const std::array numbers{0U, 1U, 255U, 256U, 65535U, 65536U, (1U << 22U) - 1};
  for (const std::uint32_t number : numbers) {
    const kernel::Metadata metadata = elsewhere(device->metadata(), number);
    all.insert(metadata);
    handles.insert(value_or_throw(device->resolve(metadata)));
  }
  CHECK(all.size() == numbers.size() + 1);
  CHECK(handles.size() == numbers.size());
}

TEST_CASE("a node is connected to by its number, with two reads of the table or more, and one that is not in it is not") {
  const KeptTable table;
  const auto device = value_or_throw(open_loopback_device("net", {.send_depth = 16, .receive_buffers = 16}));
  const auto seeker =
      value_or_throw(Seeker::start(*device, table.keeper.server(), {.nodes_max = nodes, .pairs_max = 3 * nodes}));
  CHECK(seeker->find(NodeId(1)) == nullptr);
  const auto found = value_or_throw(seeker->connect_unknown(NodeId(1)));
  CHECK(found.reads >= 2);
  CHECK(found.reads <= kernel::meta_chain_max + 1);
  CHECK(found.ns > 0);
  REQUIRE(seeker->find(NodeId(1)) != nullptr);
  CHECK(*seeker->find(NodeId(1)) == elsewhere(table.keeper.server().metadata, 1));
  CHECK(value_or_throw(seeker->read_twice()) > 0);

  CHECK(value_or_throw(seeker->connect_unknown_per_second(NodeId(2), nodes - 1)) > 0);
  for (std::uint32_t node = 1; node <= nodes; ++node) CHECK(seeker->find(NodeId(node)) != nullptr);
  CHECK(value_or_throw(seeker->connect_known_per_second(NodeId(1), nodes, 2 * nodes)) > 0);
  const auto full = seeker->connect(NodeId(1), false);
  REQUIRE_FALSE(full);
  CHECK(full.error().kind() == ErrorKind::resource);
  seeker->close_all();
  CHECK(seeker->connect(NodeId(1), false));

  const auto absent = seeker->connect_unknown(NodeId(nodes + 1));
  REQUIRE_FALSE(absent);
  CHECK(absent.error().kind() == ErrorKind::member_lost);
}
