// Two honest members and a third whose row says anything at any time. The honest ones neither crash nor loop; each reports
// the peer or goes on; and what the two send each other arrives whole, once, in the same order at both.
//
// The third runs the real protocol in a row of its own, which is shown to the others when the input says so; what they see
// of it is then overwritten word by word. So the input reaches states deep in the protocol before it lies.
#include <spindrift/smc/multicast.hpp>

#include <array>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "fuzz.hpp"

namespace {

using namespace spindrift;
using fuzz::expect;
using fuzz::RowMemory;

constexpr std::uint32_t hostile = 2;

// A row of exactly its size on the heap, so that the sanitizer sees one byte too far.
View three_members(fuzz::Choices& choices) {
  View view;
  for (std::uint32_t i = 0; i < 3; ++i) view.members.push_back(NodeId(i));
  SubgroupView subgroup;
  subgroup.name = "all";
  subgroup.members = view.members;
  subgroup.senders = {NodeId(0), NodeId(1)};
  const std::uint64_t senders = choices.choice(4);
  if (senders == 1) subgroup.senders = {NodeId(0), NodeId(1), NodeId(2)};
  if (senders == 2) subgroup.senders = {NodeId(2), NodeId(0), NodeId(1)};
  if (senders == 3) subgroup.senders = {NodeId(0), NodeId(2)};
  subgroup.mode = choices.choice(4) == 0 ? DeliveryMode::unordered : DeliveryMode::ordered;
  subgroup.profile = {.ring_bytes = 4096, .window_messages = 1 + choices.choice(9), .message_bytes_max = 2040};
  view.subgroups.push_back(std::move(subgroup));
  return view;
}

// The k-th message of a sender: its length and bytes follow from both.
std::byte byte_of(std::uint32_t sender, std::uint64_t k, std::size_t at) {
  return static_cast<std::byte>(sender * 101 + k * 7 + at);
}

struct Received {
  std::uint32_t sender;
  std::uint64_t k;
  bool operator==(const Received&) const = default;
};

struct Group;

// One member with its application.
class Node final : public smc::DeliverySink {
 public:
  Node(Group& group, std::uint32_t self, const View& view)
      : group_(group),
        row(sst::RowLayout(view, NodeId(self)).bytes()),
        counters(CounterBlock::in_memory(smc::Multicast::counters_max)),
        table(view, NodeId(self), row.span()),
        multicast(SubgroupId(0), table, {}, *this, counters) {}

  void send(std::uint32_t self, std::uint64_t bytes);
  void on_delivery(SubgroupId, std::span<const Delivery> batch) override;
  void on_space(SubgroupId) override {}
  [[nodiscard]] bool accepts(SubgroupId) const override { return true; }

 private:
  Group& group_;

 public:
  RowMemory row;
  CounterBlock counters;
  sst::Table table;
  smc::Multicast multicast;
  std::vector<std::uint64_t> sent;                    // lengths
  std::array<std::uint64_t, 2> received_of_honest{};  // messages of each honest sender
  std::vector<Received> received;                     // of honest senders, in delivery order
};

struct Group {
  explicit Group(fuzz::Choices& choices)
      : view(three_members(choices)), shown(sst::RowLayout(view, NodeId(hostile)).bytes()) {
    for (std::uint32_t i = 0; i < 3; ++i) nodes.emplace_back(*this, i, view);
    for (std::uint32_t i = 0; i < 3; ++i) {
      for (std::uint32_t j = 0; j < 3; ++j) {
        if (i != j) nodes[i].table.attach_mapped(Rank(j), j == hostile ? shown.span() : nodes[j].row.span());
      }
      nodes[i].multicast.start();
    }
  }

  View view;
  RowMemory shown;  // the hostile row as the honest members see it
  std::deque<Node> nodes;
};

void Node::send(std::uint32_t self, std::uint64_t bytes) {
  smc::SendRing* const ring = multicast.ring();
  if (ring == nullptr || bytes > multicast.subgroup().profile.message_bytes_max) return;
  const auto reservation = ring->reserve(bytes);
  if (!reservation) return;
  for (std::size_t i = 0; i < bytes; ++i) reservation->payload[i] = byte_of(self, sent.size(), i);
  sent.push_back(bytes);
  ring->commit(*reservation);
}

void Node::on_delivery(SubgroupId, std::span<const Delivery> batch) {
  for (const Delivery& delivery : batch) {
    const std::uint32_t sender = delivery.sender.value();
    RowMemory* from = sender == hostile ? &group_.shown : &group_.nodes[sender].row;
    if (sender == hostile && this == &group_.nodes[hostile]) from = &row;
    const std::byte* const end = delivery.payload.data() + delivery.payload.size();
    expect(std::greater_equal<>{}(delivery.payload.data(), from->span().data()) &&
               std::less_equal<>{}(end, from->span().data() + from->span().size()),
           "a payload lies in its sender's row");
    if (sender == hostile) continue;

    const std::uint64_t k = received_of_honest[sender]++;
    const std::vector<std::uint64_t>& lengths = group_.nodes[sender].sent;
    expect(k < lengths.size() && delivery.payload.size() == lengths[k], "an honest message arrives once, whole");
    for (std::size_t i = 0; i < lengths[k]; ++i) {
      expect(delivery.payload[i] == byte_of(sender, k, i), "an honest message arrives as it was sent");
    }
    received.push_back({sender, k});
    const std::size_t at = received.size() - 1;
    for (const Node& other : group_.nodes) {
      if (multicast.subgroup().mode == DeliveryMode::unordered || at >= other.received.size()) continue;
      expect(other.received[at] == received[at], "members deliver in the same order");
    }
  }
}

void step(Node& node) {
  if (node.multicast.fault()) return;
  node.multicast.send_and_receive(~std::uint64_t{0});
  if (!node.multicast.fault()) node.multicast.deliver(smc::no_limits);
}

void overwrite(std::span<std::byte> row, std::uint64_t at, std::span<const std::uint8_t> bytes) {
  if (!bytes.empty()) std::memcpy(row.data() + at, bytes.data(), std::min<std::size_t>(bytes.size(), row.size() - at));
}

void lie(Group& group, fuzz::Choices& choices) {
  const auto row = group.shown.span();
  const sst::RowLayout layout(group.view, NodeId(hostile));
  const sst::SubgroupBlock& block = *layout.subgroup(SubgroupId(0));
  const std::uint64_t word =
      choices.choice(2) == 0 ? block.committed + choices.choice(3) * 8 : choices.choice(layout.control_bytes() / 8) * 8;
  const bool sends = block.ring != 0;
  const std::uint64_t in_ring = block.ring + choices.choice(64) * 8;
  std::uint64_t value = load_acquire(row.data() + word);
  switch (choices.choice(4)) {
    case 0:  // a word a little more or less than it is
      value += choices.number(1) - 128;
      std::memcpy(row.data() + word, &value, sizeof value);
      break;
    case 1: overwrite(row, word, choices.take(8)); break;
    case 2:
      if (sends) overwrite(row, in_ring, choices.take(choices.choice(32)));
      break;
    case 3:  // a header that is nearly right
      value = choices.number(2) | choices.choice(6) << 32 | choices.choice(16) << 40;
      if (sends) std::memcpy(row.data() + in_ring, &value, sizeof value);
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Choices choices(data, size);
  Group group(choices);
  while (!choices.empty()) {
    const std::uint64_t what = choices.choice(8);
    const auto who = static_cast<std::uint32_t>(choices.choice(3));
    if (what < 2) group.nodes[who].send(who, choices.number(1) * 8 + what);
    if (what >= 2 && what < 5) step(group.nodes[who]);
    if (what == 5) std::ranges::copy(group.nodes[hostile].row.span(), group.shown.span().begin());
    if (what >= 6) lie(group, choices);
  }
  for (int i = 0; i < 6; ++i) {
    for (std::uint32_t node = 0; node < hostile; ++node) step(group.nodes[node]);
  }
  return 0;
}
