// Connections over libfabric: calls, what its queues report, and what it is about to be asked.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/fabric/connected/transport.hpp>
#include <spindrift/fabric/ofi/connection.hpp>
#include <spindrift/fabric/ofi/provider.hpp>

namespace spindrift::fabric::ofi {

class OfiTransport final : public connected::Transport {
 public:
  /// `provider`: as libfabric names it.
  explicit OfiTransport(std::string provider) : provider_name_(std::move(provider)) {}

  [[nodiscard]] Result<Descriptors> open(const SocketAddress& at, NodeId self, std::uint64_t incarnation) override;
  [[nodiscard]] Result<std::unique_ptr<connected::Connection>> call(const connected::PeerCall& call,
                                                                    const SocketAddress* address,
                                                                    const connected::GreetingBytes& greeting) override;
  [[nodiscard]] std::optional<std::span<const std::byte>> waiting_call() override;
  [[nodiscard]] Result<std::unique_ptr<connected::Connection>> answer(const connected::PeerCall& call,
                                                                      const connected::GreetingBytes& greeting) override;
  void turn_away() override;
  void on_gone(connected::Connection& connection) override;
  void take_reports(connected::TransportEvents& to) override;
  bool take_completions(connected::TransportEvents& to, Time now) override;
  [[nodiscard]] bool may_block(connected::TransportEvents&) noexcept override { return provider_->may_block(); }
  [[nodiscard]] std::uint64_t address_of(const connected::OwnRegion& region) const noexcept override {
    return provider_->address_of(region.memory.data());
  }

 private:
  /// A call that came.
  struct WaitingCall {
    Info info;
    std::vector<std::byte> greeting;
  };

  void on_completion(connected::TransportEvents& to, const fi_cq_msg_entry& entry);
  void on_failed_completion(connected::TransportEvents& to);
  void on_event_error();
  [[nodiscard]] MessageEndpoint* connection_of(fid_t which) noexcept;

  const std::string provider_name_;
  std::unique_ptr<Provider> provider_;
  Flights flights_;
  std::deque<WaitingCall> waiting_;
  std::vector<MessageEndpoint*> connections_;
};

}  // namespace spindrift::fabric::ofi
