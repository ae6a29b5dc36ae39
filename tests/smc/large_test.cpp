// Large messages among mirrored members, write by write: the order in which a network may bring them, and what it may lose.
#include <catch2/catch.hpp>

#include <cstring>
#include <deque>
#include <map>
#include <memory>

#include <spindrift/smc/multicast.hpp>

#include "null_fabric.hpp"

using namespace spindrift;
using namespace spindrift::smc;

namespace {

constexpr std::uint32_t count = 4;

/// One member's writes are posted here; they land when the test says so.
class HandFabric final : public NullFabric {
 public:
  struct Posted {
    std::uint32_t to;
    fabric::RegionKey region;
    std::uint64_t offset;
    std::vector<std::byte> bytes;
  };
  [[nodiscard]] Result<void> post(std::span<const fabric::Operation> operations) override {
    for (const fabric::Operation& each : operations) {
      posted.push_back({each.peer.value(), each.region, each.offset, {each.local, each.local + each.bytes}});
    }
    return {};
  }
  std::deque<Posted> posted;
};

View four_members() {
  View view;
  SubgroupView subgroup;
  subgroup.name = "s";
  for (std::uint32_t i = 0; i < count; ++i) view.members.emplace_back(i);
  subgroup.members = view.members;
  subgroup.senders = {NodeId(0)};
  subgroup.profile = {.ring_bytes = 4096,
                      .window_messages = 8,
                      .message_bytes_max = 512,
                      .bulk_ring_bytes = 1024,
                      .large_message_bytes = 64};
  view.subgroups = {subgroup};
  return view;
}

struct Memory {
  explicit Memory(std::size_t bytes) : words((bytes + 63) / 8 + 8) {}
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }
  std::vector<std::uint64_t> words;
};

/// Region keys: 100 · owner + writer of a mirror of the writer's row; 1000 + owner of its bulk mirrors.
struct Node final : DeliverySink {
  Node(const View& view, std::uint32_t rank)
      : row(sst::RowLayout(view, view.members[rank]).bytes()),
        bulk(1024),
        mirrors(1024),
        table(view, view.members[rank], row.bytes()),
        counters(CounterBlock::in_memory(Multicast::counters_max)) {
    if (rank == 0) table.bulk(SubgroupId(0)).set_own(bulk.bytes());
    if (rank != 0) table.bulk(SubgroupId(0)).set_mirrors(mirrors.bytes());
    for (std::uint32_t peer = 0; peer < count; ++peer) {
      if (peer == rank) continue;
      auto& mirror = *(rows[peer] = std::make_unique<Memory>(sst::RowLayout(view, view.members[peer]).bytes()));
      table.attach_mirrored(Rank(peer), mirror.bytes(), fabric::PeerId(peer), fabric::RegionKey(100 * peer + rank));
      if (peer != 0) table.bulk(SubgroupId(0)).attach_mirrored(NodeId(peer), fabric::RegionKey(1000 + peer));
    }
    DeliverySink& sink = *this;
    multicast = std::make_unique<Multicast>(SubgroupId(0), table, Policy{}, sink, counters);
    multicast->start();
  }
  void on_delivery(SubgroupId, std::span<const Delivery> batch) override {
    for (const Delivery& each : batch) {
      delivered.emplace_back(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
    }
  }
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId) const override { return true; }
  void step() {
    static_cast<void>(multicast->send_and_receive(~std::uint64_t{0}));
    REQUIRE_FALSE(multicast->fault());
    REQUIRE(table.push(fabric));
    static_cast<void>(multicast->deliver(no_limits));
    REQUIRE(table.push(fabric));
  }
  [[nodiscard]] std::uint64_t received() const { return multicast->received_of()[0]; }

  Memory row;
  Memory bulk;
  Memory mirrors;
  std::map<std::uint32_t, std::unique_ptr<Memory>> rows;
  sst::Table table;
  CounterBlock counters;
  HandFabric fabric;
  std::unique_ptr<Multicast> multicast;
  std::vector<std::string> delivered;
};

struct Group {
  Group() {
    for (std::uint32_t i = 0; i < count; ++i) nodes.push_back(std::make_unique<Node>(view, i));
  }
  void send(const std::string& text) {
    BulkRing& bulk = *nodes[0]->multicast->bulk_ring();
    const auto reservation = bulk.reserve(text.size());
    REQUIRE(reservation);
    std::memcpy(reservation->payload.data(), text.data(), text.size());
    bulk.commit(*reservation);
  }
  static bool is_bulk(const HandFabric::Posted& posted) { return posted.region.value() >= 1000; }
  /// Lets what `from` has posted to `to` land, up to `most` writes; the rest stays under way.
  void land(std::uint32_t from, std::uint32_t to, std::size_t most = ~std::size_t{0}) {
    std::deque<HandFabric::Posted> left;
    for (HandFabric::Posted& posted : nodes[from]->fabric.posted) {
      if (posted.to != to || most == 0) {
        left.push_back(std::move(posted));
        continue;
      }
      --most;
      Memory& memory = is_bulk(posted) ? nodes[to]->mirrors : *nodes[to]->rows[from];
      std::memcpy(memory.bytes().data() + posted.offset, posted.bytes.data(), posted.bytes.size());
    }
    nodes[from]->fabric.posted = std::move(left);
  }
  [[nodiscard]] std::size_t bulk_writes(std::uint32_t from) const {
    const auto& posted = nodes[from]->fabric.posted;
    return static_cast<std::size_t>(std::count_if(posted.begin(), posted.end(), is_bulk));
  }
  void run() {
    for (int round = 0; round < 20; ++round) {
      for (std::uint32_t from = 0; from < count; ++from) {
        for (std::uint32_t to = 0; to < count; ++to) land(from, to);
      }
      for (auto& node : nodes) node->step();
    }
  }
  View view = four_members();
  std::vector<std::unique_ptr<Node>> nodes;
};

const std::string text(300, 'x');

}  // namespace

TEST_CASE("the sender writes a large message to one member, and that one to the others") {
  Group group;
  group.send(text);
  group.nodes[0]->step();
  CHECK(group.bulk_writes(0) == 1);
  group.land(0, 1);
  group.nodes[1]->step();
  CHECK(group.nodes[1]->received() == 1);
  CHECK(group.bulk_writes(1) == 2);
  group.run();
  for (const auto& node : group.nodes) CHECK(node->delivered == std::vector<std::string>{text});
}

TEST_CASE("with every large message it is another member's turn to hand on, and space comes back for more") {
  Group group;
  for (int i = 0; i < 30; ++i) {
    group.send(std::string(65 + static_cast<std::size_t>(i) * 10, static_cast<char>('a' + i % 26)));
    group.nodes[0]->step();
    group.land(0, static_cast<std::uint32_t>(1 + i % 3));
    Node& relay = *group.nodes[static_cast<std::size_t>(1 + i % 3)];
    relay.step();
    CHECK(group.bulk_writes(static_cast<std::uint32_t>(1 + i % 3)) == 2);
    group.run();
  }
  for (const auto& node : group.nodes) CHECK(node->delivered.size() == 30);
}

TEST_CASE("who gets a large message from a relay waits for its word, not for the sender's") {
  Group group;
  group.send(text);
  group.nodes[0]->step();
  group.land(0, 2);  // `committed` and the descriptor, no bytes
  group.nodes[2]->step();
  CHECK(group.nodes[2]->received() == 0);
  group.land(0, 1);
  group.nodes[1]->step();
  group.land(1, 2, 1);  // the bytes without the word
  group.nodes[2]->step();
  CHECK(group.nodes[2]->received() == 0);
  group.land(1, 2);
  CHECK(group.nodes[2]->multicast->has_news_from(Rank(1)));
  group.nodes[2]->step();
  CHECK(group.nodes[2]->received() == 1);
}

TEST_CASE("a relay that dies between the bytes and its word leaves the count short, and the sender has the message still") {
  Group group;
  group.send(text);
  group.nodes[0]->step();
  for (std::uint32_t to = 1; to < count; ++to) group.land(0, to);
  group.nodes[1]->step();
  group.land(1, 2, 1);  // bytes alone; to the other nothing
  for (const std::uint32_t survivor : {0U, 2U, 3U}) {
    group.nodes[survivor]->step();
    group.nodes[survivor]->multicast->wedge();
  }
  CHECK(group.nodes[0]->received() == 1);
  CHECK(group.nodes[2]->received() == 0);
  CHECK(group.nodes[3]->received() == 0);
  const std::vector<std::uint64_t> trim{0};
  for (const std::uint32_t survivor : {0U, 2U, 3U}) {
    REQUIRE(group.nodes[survivor]->multicast->can_finish(trim));
    group.nodes[survivor]->multicast->finish(trim);
    CHECK(group.nodes[survivor]->delivered.empty());
  }
  const auto leftover = group.nodes[0]->multicast->next_leftover();
  REQUIRE(leftover);
  CHECK(std::string(reinterpret_cast<const char*>(leftover->data()), leftover->size()) == text);
}

TEST_CASE("a sender that dies when its relay has everything is delivered by all who got the relay's word") {
  Group group;
  group.send(text);
  group.nodes[0]->step();
  for (std::uint32_t to = 1; to < count; ++to) group.land(0, to);
  group.nodes[1]->step();
  group.land(1, 2);
  group.land(1, 3);
  for (std::uint32_t survivor = 1; survivor < count; ++survivor) {
    if (survivor > 1) group.nodes[survivor]->step();
    group.nodes[survivor]->multicast->wedge();
    CHECK(group.nodes[survivor]->received() == 1);
    group.nodes[survivor]->multicast->finish(std::vector<std::uint64_t>{1});
    CHECK(group.nodes[survivor]->delivered == std::vector<std::string>{text});
  }
}

TEST_CASE("a relay that claims more than the windows allow is a peer fault") {
  Group group;
  group.send(text);
  group.nodes[0]->step();
  group.land(0, 2);
  const auto& block = *group.nodes[2]->table.layout(Rank(1)).subgroup(SubgroupId(0));
  const std::uint64_t impossible = 1000;
  std::memcpy(group.nodes[2]->rows[1]->bytes().data() + block.forwarded, &impossible, sizeof impossible);
  static_cast<void>(group.nodes[2]->multicast->send_and_receive(~std::uint64_t{0}));
  REQUIRE(group.nodes[2]->multicast->fault());
  CHECK(group.nodes[2]->multicast->fault()->node == NodeId(1));
  CHECK(group.nodes[2]->multicast->fault()->what.find("forwarded") != std::string::npos);
}
