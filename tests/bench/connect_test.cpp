// The parts with which `bench connect` and its like measure: nodes that are not there, lookups of them, and the memory that
// peers take.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <thread>

#include <spindrift/bench/papers/peer_memory.hpp>
#include <spindrift/bench/reached.hpp>
#include <spindrift/bench/seeker.hpp>
#include <spindrift/bench/papers/verbs_connect.hpp>
#include <spindrift/fabric/verbs/verbs.hpp>

#include "../skip.hpp"
#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

namespace {

constexpr std::uint32_t nodes = 40;

/// A table that is kept by a thread.
struct KeptTable {
  KeptTable() {
    keeper.start("net", nodes);
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

double allocated_per_further_peer(Holding holding, std::uint32_t peers) {
  const auto one = memory_of_peers({holding, "net", 1, peers});
  const auto all = memory_of_peers({holding, "net", peers, peers});
  return bytes_per_further_peer(one.allocated, all.allocated, peers);
}

}  // namespace

TEST_CASE("what a further peer takes leaves out the first") {
  CHECK(bytes_per_further_peer(1000, 1900, 10) == 100);
  CHECK(bytes_per_further_peer(1000, 1000, 2) == 0);
  CHECK(bytes_per_further_peer(1000, 900, 3) == -50);
}

TEST_CASE("memory in use is what was asked for, and the pages of it that were touched") {
  constexpr std::size_t bytes = std::size_t{32} << 20U;
  const MemoryUse before = memory_in_use();
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const MemoryUse asked = memory_in_use();
  CHECK(asked.allocated - before.allocated >= bytes);
  CHECK(asked.allocated - before.allocated < bytes + 65536);
  CHECK(asked.resident < before.resident + bytes);
  std::fill_n(memory.get(), bytes, std::byte{1});
  CHECK(memory_in_use().resident >= before.resident + bytes);
  CHECK(memory[bytes / 2] == std::byte{1});
}

TEST_CASE("nodes that are not there have metadata of their own each, which a device takes in") {
  const auto device = open_loopback_device("net", {.send_depth = 16, .receive_buffers = 16});
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
  const auto device = open_loopback_device("net", {.send_depth = 16, .receive_buffers = 16});
  const auto seeker = Seeker::start(*device, table.keeper.server(), {.nodes_max = nodes, .pairs_max = 3 * nodes});
  CHECK(seeker->find(NodeId(1)) == nullptr);
  const auto found = seeker->connect_unknown(NodeId(1));
  CHECK(found.reads >= 2);
  CHECK(found.reads <= kernel::meta_chain_max + 1);
  CHECK(found.ns > 0);
  REQUIRE(seeker->find(NodeId(1)) != nullptr);
  CHECK(*seeker->find(NodeId(1)) == elsewhere(table.keeper.server().metadata, 1));
  CHECK(seeker->read_twice() > 0);

  CHECK(seeker->connect_unknown_per_second(NodeId(2), nodes - 1) > 0);
  for (std::uint32_t node = 1; node <= nodes; ++node) CHECK(seeker->find(NodeId(node)) != nullptr);
  CHECK(seeker->connect_known_per_second(NodeId(1), nodes, 2 * nodes) > 0);
  const auto connect_once_more = [&] {
    seeker->connect(NodeId(1), false);
    return seeker->pairs();
  };
  CHECK(error_of(connect_once_more).kind() == ErrorKind::resource);
  seeker->close_all();
  CHECK(connect_once_more() == 1);
  CHECK(error_of([&] { return seeker->connect_unknown(NodeId(nodes + 1)); }).kind() == ErrorKind::member_lost);
}

TEST_CASE("the metadata of a further peer take less than 100 bytes") {
  const double bytes = allocated_per_further_peer(Holding::metadata, 5000);
  CHECK(bytes >= 64);
  CHECK(bytes < 100);
}

TEST_CASE("a further peer takes the more memory the more is had of it, and a connected queue pair takes most") {
  const double known = allocated_per_further_peer(Holding::known, nodes);
  const double pair = allocated_per_further_peer(Holding::pair, nodes);
  const double messages = allocated_per_further_peer(Holding::pair_with_messages, nodes);
  const double connection = allocated_per_further_peer(Holding::connection, nodes);
  CHECK(known > 64);
  CHECK(pair > known);
  CHECK(messages > pair);
  CHECK(connection > 10 * messages);
  CHECK(allocated_per_further_peer(Holding::written, 3) > pair);  // TCP has a connection beneath
}

TEST_CASE("without an RDMA device, who asks for queue pairs of verbs is told what to do") {
  if (fabric::verbs_ports()) return spindrift::test::skip("there is an RDMA device");
  const Error error = error_of([] { return VerbsConnect::open("net"); });
  CHECK(error.kind() == ErrorKind::unsupported);
  CHECK_THAT(error.to_string(), Catch::Contains("fix: "));
}

TEST_CASE("queue pairs of verbs are measured") {
  if (!fabric::verbs_ports()) return spindrift::test::skip("no RDMA device");
  const VerbsTimes times = VerbsConnect::open("net")->measure(3);
  CHECK(times.all.size() == 6);
  CHECK(times.virtual_pair.size() == 3);
}
