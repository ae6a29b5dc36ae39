// A network of packets in virtual time, with every freedom that `rpc/packet_transport.hpp` leaves: it loses, repeats, delays
// and reorders. Beside that, strangers send changed copies of what they saw, and one node's packets may be changed as they
// like.
#pragma once

#include <deque>
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

  struct Packet {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::vector<std::byte> bytes;
  };
  void send(Packet packet);
  /// The next packets that have come for a node.
  [[nodiscard]] std::vector<Packet> take(std::uint32_t node, std::size_t most);
  [[nodiscard]] bool waits_for(std::uint32_t node) const { return !inboxes_[node].empty(); }
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
  std::vector<Packet> flying_;
  std::vector<std::uint32_t> free_;
  std::vector<std::deque<Packet>> inboxes_;
};

/// A node's way into the network.
class RpcPort final : public rpc::PacketTransport {
 public:
  RpcPort(RpcNetwork& network, const RpcPlan& plan, RpcBooks& books, std::uint32_t node)
      : network_(network), plan_(plan), books_(books), node_(node) {}

  [[nodiscard]] static rpc::PacketRoute route_to(std::uint32_t node) { return {{node + 1, 0, 0}}; }
  /// The counts of its endpoint say whether that has gone back.
  void watch(const rpc::RpcCounts& counts) { counts_ = &counts; }

  [[nodiscard]] std::size_t payload_bytes() const noexcept override { return plan_.payload_bytes; }
  [[nodiscard]] std::uint32_t receive_packets() const noexcept override { return UINT32_MAX; }
  void send(std::span<const rpc::OutgoingPacket> burst) override;
  [[nodiscard]] std::span<const rpc::IncomingPacket> receive() override;

 private:
  static constexpr std::size_t burst_max = 16;

  RpcNetwork& network_;
  const RpcPlan& plan_;
  RpcBooks& books_;
  std::uint32_t node_;
  const rpc::RpcCounts* counts_ = nullptr;
  std::vector<RpcNetwork::Packet> taken_;
  std::vector<rpc::IncomingPacket> burst_;
};

}  // namespace spindrift::sim
