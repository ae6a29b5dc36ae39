// Connections over verbs: calls, what rdma_cm reports of them, and what the device reports of queue pairs.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/fabric/verbs/connection.hpp>
#include <spindrift/fabric/verbs/device.hpp>

namespace spindrift::fabric::verbs {

class VerbsTransport final : public connected::Transport {
 public:
  /// `memory_windows`: as VerbsOptions has it.
  explicit VerbsTransport(bool memory_windows) : memory_windows_(memory_windows) {}

  [[nodiscard]] Result<Descriptors> open(const connected::SocketAddress& at, NodeId self,
                                         std::uint64_t incarnation) override;
  [[nodiscard]] Result<std::unique_ptr<connected::Connection>> call(const connected::PeerCall& call,
                                                                    const connected::SocketAddress* address,
                                                                    const connected::GreetingBytes& greeting) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override;
  [[nodiscard]] Result<std::unique_ptr<connected::Connection>> answer(const connected::PeerCall& call,
                                                                      const connected::GreetingBytes& greeting) override;
  void turn_away() override;
  void on_gone(connected::Connection& connection) override { numbers_.erase(static_cast<QueuePair&>(connection).number); }
  void take_reports(connected::TransportEvents& to) override;
  bool take_completions(connected::TransportEvents& to, Time now) override;
  void arm() noexcept override { device_->arm(); }
  void disarm() noexcept override { device_->disarm(); }
  [[nodiscard]] bool may_block(connected::TransportEvents& to) noexcept override { return !take_completions(to, {}); }
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion& region) const noexcept override {
    return reinterpret_cast<std::uintptr_t>(region.memory.data());
  }

 private:
  /// What rdma_cm reports, copied out of its event.
  struct Report {
    rdma_cm_event_type kind = RDMA_CM_EVENT_ADDR_RESOLVED;
    int status = 0;
    rdma_cm_id* id = nullptr;
    std::uint32_t number = 0;
    std::vector<std::byte> data;
  };
  /// A call that came.
  struct WaitingCall {
    Handle<rdma_cm_id> id;
    std::vector<std::byte> greeting;
  };

  void on_report(connected::TransportEvents& to, Report report);
  void on_way_found(QueuePair& connection, rdma_cm_event_type how_far);
  void on_completion(connected::TransportEvents& to, const ibv_wc& completion);
  [[nodiscard]] QueuePair* numbered(std::uint32_t number) noexcept;

  const bool memory_windows_;
  std::unique_ptr<Device> device_;
  std::deque<WaitingCall> waiting_;
  std::unordered_map<std::uint32_t, QueuePair*> numbers_;
  std::uint32_t newest_number_ = 0;
};

}  // namespace spindrift::fabric::verbs
