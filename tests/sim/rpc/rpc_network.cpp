// Carries packets, or does not.
#include "rpc_network.hpp"

#include <algorithm>
#include <cstring>

namespace spindrift::sim {
namespace {

constexpr std::size_t token_offset = 8;
constexpr std::size_t token_bytes = 8;

}  // namespace

RpcNetwork::RpcNetwork(Scheduler& scheduler, const RpcPlan& plan, RpcBooks& books, PacketReceiver& receiver)
    : scheduler_(scheduler),
      plan_(plan),
      books_(books),
      receiver_(receiver),
      random_(plan.seed, Purpose::rpc_packets),
      ended_(plan.nodes),
      inboxes_(plan.nodes) {}

void RpcNetwork::hang_up(std::uint32_t a, std::uint32_t b) {
  if (a == b) return;
  const std::uint64_t over = connections_[{std::min(a, b), std::max(a, b)}]++;
  for (const auto& [node, other] : {std::pair(a, b), std::pair(b, a)}) {
    ended_[node].push_back({other, over});
    receiver_.on_arrival(node);
  }
}

std::vector<RpcNetwork::Ended> RpcNetwork::take_ended(std::uint32_t node) {
  std::vector<Ended> told;
  std::erase_if(ended_[node], [&](const Ended& each) {
    const bool waits = std::any_of(inboxes_[node].begin(), inboxes_[node].end(), [&](const Packet& packet) {
      return packet.from == each.other && packet.connection == each.connection;
    });
    if (!waits) told.push_back(each);
    return !waits;
  });
  return told;
}

void RpcNetwork::change(Packet& packet, bool token) {
  for (std::uint64_t i = random_.between(1, 3); i > 0; --i)
    packet.bytes[random_.below(packet.bytes.size())] ^= static_cast<std::byte>(1 << random_.below(8));
  if (!token) return;
  const std::uint64_t guess = random_.next();
  const bool offer = packet.bytes[1] == static_cast<std::byte>(rpc::PacketKind::connect);  // whose token is in its payload
  const std::size_t at = (offer ? rpc::header_bytes : 0) + token_offset;
  if (packet.bytes.size() >= at + token_bytes) std::memcpy(packet.bytes.data() + at, &guess, token_bytes);
  if (random_.chance(1, 8)) packet.bytes.resize(random_.below(packet.bytes.size()));
}

void RpcNetwork::send(Packet packet) {
  if (packet.connection != connection(packet.from, packet.to)) {  // it is told again
    ended_[packet.from].push_back({packet.to, packet.connection});
    return receiver_.on_arrival(packet.from);
  }
  if (healed_) return fly(std::move(packet));
  const PacketTrouble& trouble = plan_.packets;
  if (cuts_.contains({std::min(packet.from, packet.to), std::max(packet.from, packet.to)})) return;
  if (random_.chance(trouble.strange, 1000)) {
    Packet copy = packet;
    change(copy, true);
    fly(std::move(copy));
  }
  if (books_.hostile(packet.from) && random_.chance(1, 3)) change(packet, false);
  if (random_.chance(trouble.twice, 1000)) fly(packet);
  if (random_.chance(trouble.lost, 1000)) return;
  fly(std::move(packet));
}

void RpcNetwork::fly(Packet packet) {
  const std::uint64_t jitter =
      healed_ || plan_.packets.jitter == 0 ? 0 : random_.spread(1, static_cast<std::uint64_t>(plan_.packets.jitter));
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flying_.size()));
    flying_.emplace_back();
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  flying_[place] = std::move(packet);
  scheduler_.at(scheduler_.now() + plan_.packets.delay + static_cast<Ticks>(jitter), *this, EventKind::fabric_event, place);
}

void RpcNetwork::on_event(EventKind, std::uint32_t which) {
  Packet packet = std::move(flying_[which]);
  free_.push_back(which);
  const std::uint32_t to = packet.to;
  if (packet.connection != connection(packet.from, to)) return;  // lost with its connection
  inboxes_[to].push_back(std::move(packet));
  receiver_.on_arrival(to);
}

std::vector<RpcNetwork::Packet> RpcNetwork::take(std::uint32_t node, std::size_t most) {
  std::vector<Packet> taken;
  auto& inbox = inboxes_[node];
  for (; !inbox.empty() && taken.size() < most; inbox.pop_front()) taken.push_back(std::move(inbox.front()));
  return taken;
}

void RpcPort::send(std::span<const rpc::OutgoingPacket> burst) {
  for (const rpc::OutgoingPacket& packet : burst) {
    std::vector<std::byte> bytes(packet.header.begin(), packet.header.end());
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    const auto sent = rpc::decode(bytes, plan_.payload_bytes);
    if (!sent) {
      books_.violated("C2", "an endpoint sends what is no packet");
    } else {
      books_.on_sent(node_, *sent, counts_->retransmissions > 0);
    }
    network_.send({node_, static_cast<std::uint32_t>(packet.to.words[0] - 1), packet.to.words[1], std::move(bytes)});
  }
}

std::span<const rpc::IncomingPacket> RpcPort::receive() {
  for (RpcNetwork::Packet& packet : taken_) std::fill(packet.bytes.begin(), packet.bytes.end(), std::byte{0xdd});
  taken_ = network_.take(node_, burst_max);
  burst_.clear();
  for (const RpcNetwork::Packet& packet : taken_) {
    burst_.push_back({{{packet.from + 1, packet.connection, 0}}, packet.bytes});
    if (const auto read = rpc::decode(packet.bytes, plan_.payload_bytes)) books_.on_taken(*read);
  }
  return burst_;
}

std::span<const rpc::PacketRoute> RpcPort::ended_routes() {
  ended_.clear();
  for (const RpcNetwork::Ended& each : network_.take_ended(node_)) ended_.push_back({{each.other + 1, each.connection, 0}});
  return ended_;
}

}  // namespace spindrift::sim
