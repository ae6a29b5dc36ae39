// Connections over a pool of virtual queue pairs. Who calls connects a pair and greets over it; who is called greets back
// over the pair that its pool has accepted, and knows that the connection stands when the caller says anything more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/kernel/pool.hpp>
#include <spindrift/kernel/provider/arena.hpp>
#include <spindrift/kernel/provider/connection.hpp>
#include <spindrift/kernel/provider/finder.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>

namespace spindrift::kernel::vq {

class VqTransport final : public connected::Transport {
 public:
  /// The arena is the source of the endpoint's memory, and outlives it.
  VqTransport(const VqOptions& options, Arena& arena);

  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at, NodeId self,
                                         std::uint64_t incarnation) override;
  [[nodiscard]] Reach reach(NodeId node) override;
  [[nodiscard]] std::optional<NodeId> next_reachable() override;
  [[nodiscard]] Result<std::unique_ptr<connected::Connection>> call(const connected::PeerCall& call,
                                                                    const connected::SocketAddress* address,
                                                                    const connected::GreetingBytes& greeting) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override;
  [[nodiscard]] Result<std::unique_ptr<connected::Connection>> answer(const connected::PeerCall& call,
                                                                      const connected::GreetingBytes& greeting) override;
  void turn_away() override;
  void on_gone(connected::Connection& connection) override;
  void take_reports(connected::TransportEvents&) override {}
  bool take_completions(connected::TransportEvents& to, Time now) override;
  [[nodiscard]] bool may_block(connected::TransportEvents&) noexcept override {
    return newcomers_.empty() && !pool_->is_due() && !finder_.is_due() && device_->may_block();
  }
  [[nodiscard]] Time next_look() const noexcept override { return std::min(device_->next_look(), finder_.deadline()); }
  void shut() noexcept override;
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion&) const noexcept override { return 0; }
  void count_in(CounterBlock* block) override;

 private:
  using Message = std::vector<std::byte>;
  /// The time of the last pass.
  struct PassClock final : Clock {
    [[nodiscard]] Time now() const noexcept override { return time; }
    Time time{};
  };
  /// A pair that a peer has connected, with the first that it said.
  struct Newcomer {
    PairId pair;
    Message greeting;
    Introduction introduced;
  };

  [[nodiscard]] PairContext context() noexcept { return {*pool_, arena_, staging_, leaving_, seen_.time}; }
  void take_finished(connected::TransportEvents& to);
  void take_messages(connected::TransportEvents& to, PairConnection& connection);
  void take_newcomers(connected::TransportEvents& to);
  void on_answer(connected::TransportEvents& to, PairConnection& connection, std::span<const std::byte> message);
  void on_linked(PairConnection& connection);
  void let_go(connected::TransportEvents& to);
  void refuse(PairId pair);
  /// What this side says first, and the right to read its meta table that goes with it.
  [[nodiscard]] Result<void> introduce(PairConnection& connection, const connected::GreetingBytes& greeting);

  const std::string provider_;
  Arena& arena_;
  Staging staging_;
  CompletionQueue completions_;
  Finder finder_;
  std::unordered_map<NodeId, Route> routes_;  ///< of nodes that are about to be called by them
  std::vector<NodeId> reachable_;
  std::unique_ptr<PhysicalDevice> device_;
  std::unique_ptr<Pool> pool_;
  std::unordered_map<PairId, PairConnection*> pairs_;
  std::deque<Newcomer> newcomers_;
  std::deque<Leaving> leaving_;
  PassClock seen_;
  CounterBlock* counters_ = nullptr;  ///< before there is a pool: in which it will count
  Counter fenced_bytes_;
  bool stands_still_ = false;  ///< the pool said that it cannot repair itself now
};

}  // namespace spindrift::kernel::vq
