// The endpoint over a pool of virtual queue pairs: what the pool reports, calls, and operations in lists.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <spindrift/fabric/connected/endpoint.hpp>
#include <spindrift/fabric/connected/small_writes.hpp>
#include <spindrift/kernel/fabric/arena.hpp>
#include <spindrift/kernel/fabric/finder.hpp>
#include <spindrift/kernel/fabric/lane.hpp>
#include <spindrift/kernel/fabric/vq_fabric.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel::vq {

/// Of a fabric's name, before the provider's.
inline constexpr std::string_view name_prefix = "vq:";

/// A device of this fabric's providers that listens there. Errors: as `make_vq` and Fabric::listen.
[[nodiscard]] Result<std::unique_ptr<Device>> open_device(const std::string& provider, const connected::SocketAddress& at);

class VqFabric final : public connected::Endpoint {
 public:
  /// `beginning.memory` is `arena`.
  VqFabric(const VqOptions& options, connected::Beginning beginning, Arena& arena);
  ~VqFabric() override { end(); }

  [[nodiscard]] Result<void> post(std::span<const spindrift::fabric::Operation> operations) override;
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
  };

  // endpoint.cpp: operations
  [[nodiscard]] Lane* lane_to(spindrift::fabric::PeerId peer) noexcept { return static_cast<Lane*>(find(peer)); }
  void execute(const spindrift::fabric::Operation& operation);

  // links.cpp: what the pool reports, and calls
  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at) override;
  [[nodiscard]] Result<std::unique_ptr<connected::Lane>> start_call(NodeId node,
                                                                    const connected::SocketAddress& address) override;
  [[nodiscard]] Knows knows(NodeId node) override;
  [[nodiscard]] Result<std::unique_ptr<connected::Lane>> start_known_call(NodeId node) override;
  void take_reports() override;
  bool take_completions() override;
  void on_writes(connected::Lane& lane, std::span<const std::byte> writes) override;
  void on_gone(connected::Lane& lane) override;
  [[nodiscard]] bool may_block() noexcept override {
    return newcomers_.empty() && !pool_->is_due() && !finder_.is_due() && device_->may_block();
  }
  [[nodiscard]] Time next_look() const noexcept override { return std::min(device_->next_look(), finder_.deadline()); }
  void shut() noexcept override;

  [[nodiscard]] Ways ways() noexcept { return {*pool_, arena_, staging_, leaving_, seen_.time}; }
  void take_finished();
  void take_messages(Lane& lane);
  void on_message(Lane& lane, std::span<const std::byte> message);
  void let_go();
  void on_answer(Lane& lane, std::span<const std::byte> message);
  void on_linked(Lane& lane);
  [[nodiscard]] Result<std::unique_ptr<connected::Lane>> call_by(NodeId node, const Metadata& metadata, const Route& route);
  [[nodiscard]] Result<Message> greeting_for(Lane& lane);
  [[nodiscard]] bool plausible(NodeId node, const Metadata& metadata) const;

  const std::string provider_;
  Arena& arena_;
  Staging staging_;
  CompletionQueue completions_;
  std::map<NodeId, std::string> addresses_;  ///< of the roster
  Finder finder_;
  std::unordered_map<NodeId, Route> routes_;  ///< of nodes that are about to be called by them
  std::unique_ptr<Device> device_;
  std::unique_ptr<Pool> pool_;
  std::unordered_map<PairId, Lane*> pairs_;
  std::deque<Newcomer> newcomers_;
  std::deque<Leaving> leaving_;
  PassClock seen_;
  CounterBlock* counters_ = nullptr;  ///< before there is a pool: in which it will count
  Counter fenced_bytes_;
  bool stands_still_ = false;  ///< the pool said that it cannot repair itself now
  connected::SmallWrites small_writes_;
  std::vector<Lane*> rung_;  ///< while a list is posted: whom it is for
};

}  // namespace spindrift::kernel::vq
