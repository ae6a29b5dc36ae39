// The order of deliveries, in whatever mixture of messages, nulls and given up ones, and in whatever steps they come.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include <spindrift/smc/ablation.hpp>

using namespace spindrift;
using namespace spindrift::smc;

namespace {

View view_of(std::uint32_t senders) {
  View view;
  SubgroupView subgroup;
  subgroup.name = "s";
  for (std::uint32_t i = 0; i < senders; ++i) view.members.emplace_back(i);
  subgroup.members = view.members;
  subgroup.senders = view.members;
  subgroup.profile = {.ring_bytes = 512, .window_messages = 16, .message_bytes_max = 40};
  view.subgroups = {subgroup};
  return view;
}

/// A member whose rows the others map; what it is handed is checked at once.
struct Node final : DeliverySink {
  Node(const View& view, std::uint32_t rank, const Ablation& given)
      : row(sst::RowLayout(view, view.members[rank]).bytes() / 8 + 8),
        table(view, view.members[rank], bytes()),
        counters(CounterBlock::in_memory(Multicast::counters_max)),
        policy(given),
        delivered_of(view.members.size()) {
    DeliverySink& sink = *this;
    multicast = std::make_unique<Multicast>(SubgroupId(0), table, policy, sink, counters);
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(row)); }
  void on_delivery(SubgroupId, std::span<const Delivery> batch) override {
    REQUIRE(batch.size() <= policy.delivery_batch_max);
    for (const Delivery& each : batch) {
      const std::uint32_t sender = each.sender_rank.value();
      // The order is one message of each sender in turn, nulls included.
      REQUIRE(each.sequence.value() == each.index.value() * delivered_of.size() + sender);
      REQUIRE(each.sequence.value() >= sequence_min);
      sequence_min = each.sequence.value() + 1;
      REQUIRE(each.sender == NodeId(sender));
      std::uint64_t number = 0;
      REQUIRE(each.payload.size() >= sizeof number);
      std::memcpy(&number, each.payload.data(), sizeof number);
      REQUIRE(number > delivered_of[sender]);  // those between were given up
      delivered_of[sender] = number;
      ++delivered;
    }
  }
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId) const override { return true; }

  std::vector<std::uint64_t> row;
  sst::Table table;
  CounterBlock counters;
  const Ablation policy;
  AblatedStepper stepper{policy};
  std::vector<std::uint64_t> delivered_of;  // by sender: the last message's number
  std::uint64_t sequence_min = 0;
  std::uint64_t delivered = 0;
  std::uint64_t sent = 0;       // numbers given out
  std::uint64_t abandoned = 0;  // of them
  std::unique_ptr<Multicast> multicast;
};

}  // namespace

TEST_CASE("messages are delivered in the order of their turns, in whatever mixture with nulls") {
  const std::uint32_t seed = GENERATE(range(0U, 40U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t bound) { return static_cast<std::uint32_t>(random() % bound); };
  const std::uint32_t senders = 1 + below(5);
  const View view = view_of(senders);
  std::vector<std::unique_ptr<Node>> nodes;
  for (std::uint32_t i = 0; i < senders; ++i) {
    Ablation policy;
    if (below(2) == 0) policy.delivery_batch_max = 1 + below(9);
    if (below(3) == 0) policy.turn.messages = 1 + below(9);
    if (below(3) == 0) policy.receive_batch_max = 1 + below(4);
    nodes.push_back(std::make_unique<Node>(view, i, policy));
  }
  for (auto& node : nodes) {
    for (std::uint32_t peer = 0; peer < senders; ++peer) {
      if (nodes[peer] != node) node->table.attach_mapped(Rank(peer), nodes[peer]->bytes());
    }
    node->multicast->start();
  }
  std::vector<std::uint32_t> eagerness;  // some senders rest for long, some always have something
  for (std::uint32_t i = 0; i < senders; ++i) eagerness.push_back(below(4) * 4);

  const auto step = [&](Node& node) {
    static_cast<void>(node.stepper.send_and_receive(*node.multicast, ~std::uint64_t{0}));
    REQUIRE_FALSE(node.multicast->fault());
    static_cast<void>(node.multicast->deliver(node.policy.turn));
    REQUIRE_FALSE(node.multicast->fault());
  };
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t rank = below(senders);
    Node& node = *nodes[rank];
    for (std::uint32_t burst = below(1 + eagerness[rank]); burst > 0; --burst) {
      const std::uint64_t bytes = 8 + below(33);
      const auto reservation = node.multicast->ring()->reserve(bytes);
      if (!reservation) break;
      const std::uint64_t number = ++node.sent;
      std::memcpy(reservation->payload.data(), &number, sizeof number);
      const bool gives_up = below(8) == 0;
      node.abandoned += gives_up ? 1 : 0;
      gives_up ? node.multicast->ring()->abandon(*reservation) : node.multicast->ring()->commit(*reservation);
    }
    if (below(10) == 0) eagerness[rank] = below(4) * 4;
    for (std::uint32_t steps = below(3); steps > 0; --steps) step(*nodes[below(senders)]);
  }
  std::uint64_t expected = 0;
  for (const auto& node : nodes) expected += node->sent - node->abandoned;
  const auto complete = [&](const auto& node) { return node->delivered == expected; };
  for (int round = 0; round < 2000 && !std::all_of(nodes.begin(), nodes.end(), complete); ++round) {
    for (auto& node : nodes) step(*node);
  }
  for (const auto& node : nodes) CHECK(node->delivered == expected);
}
