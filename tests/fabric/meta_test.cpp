// A group of processes over virtual queue pairs finds its nodes by the meta tables that they keep.
#include "child.hpp"
#include "harness.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

constexpr std::uint32_t first = 1;
constexpr std::uint32_t newcomer = 6;  // and all between are processes of their own

/// Those processes, all linked with each other.
class Mesh {
 public:
  explicit Mesh(std::string fabric) : fabric_(std::move(fabric)) {
    const std::string fifo = directory_.path() + "/ready";
    if (::mkfifo(fifo.c_str(), 0600) != 0) throw std::runtime_error("mkfifo failed");
    ready_ = FileDescriptor(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
    for (std::uint32_t node = first; node <= newcomer; ++node) roster_.push_back(address_of(NodeId(node)));
    for (std::uint32_t node = first; node < newcomer; ++node) start(node);
    await_ready(newcomer - first);
  }

  void start(std::uint32_t node) {
    std::string all;
    for (const Address& each : roster_)
      all += (all.empty() ? "" : ",") + std::to_string(each.node.value()) + "@" + each.endpoint;
    children_[node] = std::make_unique<Child>(directory_.path(), std::to_string(node), "mesh",
                                              std::vector{address_of(NodeId(node)).endpoint, all, fabric_});
  }
  void await_ready(std::uint32_t count) const {
    for (; count > 0; --count) {
      pollfd fd{ready_.get(), POLLIN, 0};
      const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(hang).count();
      if (::poll(&fd, 1, static_cast<int>(limit)) != 1) throw std::runtime_error("a process is not linked with the others");
      char byte = 0;
      if (::read(ready_.get(), &byte, 1) != 1) throw std::runtime_error("read failed");
    }
  }
  void kill(std::uint32_t node) { children_.erase(node); }

  /// Waits for tables and their answers as long as it takes, so that no address is taken because somebody was slow.
  [[nodiscard]] std::unique_ptr<Fabric> make_newcomer() const {
    return value_or_throw(kernel::make_vq({.self = NodeId(newcomer),
                                           .provider = value_or_throw(FabricName::parse(fabric_)).provider,
                                           .runtime_directory = directory_.path(),
                                           .group_name = "group",
                                           .roster = roster_,
                                           .meet_max = hang,
                                           .lookup_max = hang}));
  }

 private:
  TemporaryDirectory directory_;
  const std::string fabric_;
  FileDescriptor ready_;
  std::vector<Address> roster_;
  std::map<std::uint32_t, std::unique_ptr<Child>> children_;
};

std::uint64_t value_of(const CounterBlock& counters, const std::string& name) {
  const auto values = counters.values();
  const auto at = std::find_if(values.begin(), values.end(), [&](const CounterValue& each) { return each.name == name; });
  if (at == values.end()) throw std::runtime_error("there is no counter " + name);
  return at->value;
}

}  // namespace

TEST_CASE("a newcomer meets one node at its address, and finds all others in the tables, also one that has started again",
          "[slow]") {
  const auto name = GENERATE(as<std::string>(), "vq:tcp", "vq:net");
  CAPTURE(name);
  Mesh mesh(name);
  CounterBlock counters = CounterBlock::in_memory(32);
  Endpoint node(newcomer, mesh.make_newcomer());
  node.fabric->count_in(&counters);
  for (std::uint32_t other = first; other < newcomer; ++other) node.connect(NodeId(other));
  std::map<NodeId, PeerId> peers;
  while (peers.size() < newcomer - first) {
    const Event connected = await(node, Event::Kind::connected);
    peers[connected.node] = connected.peer;
  }
  CHECK(value_of(counters, "vq.links_by_address") == 1);
  CHECK(value_of(counters, "vq.links_looked_up") == 4);
  CHECK(value_of(counters, "vq.meta_reads") >= 8);
  CHECK(value_of(counters, "vq.meta_faults") == 0);
  CHECK(value_of(counters, "vq.meta_table_nodes") == 1);  // it keeps no table for all
  CHECK(value_of(counters, "vq.pairs") >= newcomer - first);
  CHECK(value_of(counters, "vq.breaks") + value_of(counters, "vq.rejected_messages") == 0);
  CHECK(value_of(counters, "vq.fenced_bytes") == 0);

  // Its record is of another start from now on, and so is the one that was remembered.
  mesh.kill(newcomer - 1);
  CHECK(await(node, Event::Kind::lost).node == NodeId(newcomer - 1));
  mesh.start(newcomer - 1);
  mesh.await_ready(1);
  node.connect(NodeId(newcomer - 1));
  CHECK(await(node, Event::Kind::connected).node == NodeId(newcomer - 1));
  CHECK(value_of(counters, "vq.links_looked_up") == 5);
  CHECK(value_of(counters, "vq.links_by_address") == 1);
  CHECK(value_of(counters, "vq.meta_stale") == 0);

  // With two of the three gone that keep tables for all, the last one is asked.
  for (const std::uint32_t server : {first, first + 2}) {
    mesh.kill(server);
    CHECK(await(node, Event::Kind::lost).node == NodeId(server));
  }
  // Memory that a peer might still be writing to when it is hung up on is nobody's any more.
  const Region region = value_or_throw(node.fabric->allocate(8192, "region"));
  REQUIRE(node.fabric->expose(peers.at(NodeId(newcomer - 2)), region.key, Access::write).ok());
  node.fabric->disconnect(peers.at(NodeId(newcomer - 2)));
  node.fabric->release(region.key);
  node.connect(NodeId(newcomer - 2));
  CHECK(await(node, Event::Kind::connected).node == NodeId(newcomer - 2));
  CHECK(value_of(counters, "vq.links_looked_up") == 6);
  CHECK(value_of(counters, "vq.links_by_address") == 1);
  // The link before may still have its last words to say: until then it holds the memory.
  drive({&node}, [&] { return value_of(counters, "vq.fenced_bytes") > 0; });
  CHECK(value_of(counters, "vq.fenced_bytes") == 8192);
  node.fabric->count_in(nullptr);
}
