// A network of packets in virtual time, with every freedom that `rpc/packet_transport.hpp` leaves: it loses, repeats, delays
// and reorders. Beside that, strangers send changed copies of what they saw, and one node's packets may be changed as they
// like.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include <spindrift/rpc/packet_transport.hpp>

#include "random.hpp"
#include "rpc_books.hpp"
#include "rpc_plan.hpp"
#include "scheduler.hpp"

namespace spindrift::sim {

/// Somebody who is told that packets have come.
class PacketReceiver {
 public:
  virtual void on_arrival(std::uint32_t node) = 0;

 protected:
  ~PacketReceiver() = default;
};

class RpcNetwork final : public Handler {
 public:
  RpcNetwork(Scheduler& scheduler, const RpcPlan& plan, RpcBooks& books, PacketReceiver& receiver);

  /// From here on every packet arrives, once and after the same time.
  void heal() { healed_ = true; }
  void cut(std::uint32_t a, std::uint32_t b) { cuts_.insert({std::min(a, b), std::max(a, b)}); }
  void mend(std::uint32_t a, std::uint32_t b) { cuts_.erase({std::min(a, b), std::max(a, b)}); }

  /// The connection of two nodes ends, both are told, and the next one begins.
  void hang_up(std::uint32_t a, std::uint32_t b);
  /// How often the connection of two nodes has ended.
  [[nodiscard]] std::uint64_t connection(std::uint32_t a, std::uint32_t b) const {
    const auto at = connections_.find({std::min(a, b), std::max(a, b)});
    return at == connections_.end() ? 0 : at->second;
  }

  struct Packet {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t connection = 0;
    std::vector<std::byte> bytes;
  };
  void send(Packet packet);
  /// The next packets that have come for a node.
  [[nodiscard]] std::vector<Packet> take(std::uint32_t node, std::size_t most);
  [[nodiscard]] bool waits_for(std::uint32_t node) const { return !inboxes_[node].empty() || !ended_[node].empty(); }
  /// A connection that is over, of a node.
  struct Ended {
    std::uint32_t other = 0;
    std::uint64_t connection = 0;
  };
  /// Those from which nothing waits any more.
  [[nodiscard]] std::vector<Ended> take_ended(std::uint32_t node);
  void drop_inbox(std::uint32_t node) { inboxes_[node].clear(); }

  void on_event(EventKind kind, std::uint32_t which) override;

 private:
  void fly(Packet packet);
  void change(Packet& packet, bool token);

  Scheduler& scheduler_;
  const RpcPlan& plan_;
  RpcBooks& books_;
  PacketReceiver& receiver_;
  Random random_;
  bool healed_ = false;
  std::set<std::pair<std::uint32_t, std::uint32_t>> cuts_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> connections_;
  std::vector<std::vector<Ended>> ended_;  ///< by node
  std::vector<Packet> flying_;
  std::vector<std::uint32_t> free_;
  std::vector<std::deque<Packet>> inboxes_;
};

/// A node's way into the network.
class RpcPort final : public rpc::PacketTransport {
 public:
  RpcPort(RpcNetwork& network, const RpcPlan& plan, RpcBooks& books, std::uint32_t node)
      : network_(network), plan_(plan), books_(books), node_(node) {}

  [[nodiscard]] rpc::PacketRoute route_to(std::uint32_t node) const {
    return {{node + 1, network_.connection(node_, node), 0}};
  }
  /// The counts of its endpoint say whether that has gone back.
  void watch(const rpc::RpcCounts& counts) { counts_ = &counts; }

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return plan_.payload_bytes; }
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return UINT32_MAX; }
  void send(std::span<const rpc::OutgoingPacket> burst) override;
  [[nodiscard]] std::span<const rpc::IncomingPacket> receive() override;
  [[nodiscard]] std::span<const rpc::PacketRoute> ended_routes() override;

 private:
  static constexpr std::size_t burst_max = 16;

  RpcNetwork& network_;
  const RpcPlan& plan_;
  RpcBooks& books_;
  std::uint32_t node_;
  const rpc::RpcCounts* counts_ = nullptr;
  std::vector<RpcNetwork::Packet> taken_;
  std::vector<rpc::IncomingPacket> burst_;
  std::vector<rpc::PacketRoute> ended_;
};

}  // namespace spindrift::sim
