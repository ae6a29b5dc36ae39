// The connected half of a device: one listener, one event queue and one completion queue for all connected queue pairs.
#pragma once

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include <spindrift/kernel/connection_table.hpp>
#include <spindrift/kernel/ofi/pending_operations.hpp>
#include <spindrift/kernel/receive_buffers.hpp>
#include <spindrift/kernel/ofi/ofi_shared.hpp>
#include <spindrift/kernel/ofi/provider_domain.hpp>

namespace spindrift::kernel::ofi {

class OfiConnections;

/// One connection. Its completions come in the order of its posts: a read that writes overtake keeps their completions back.
class OfiConnection final : public PhysicalQueuePair {
 public:
  OfiConnection(PhysicalDevice& device, OfiConnections& connections, OfiShared& shared);
  ~OfiConnection() override;

  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations) override;
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events) override { return events_.take(events); }
  void give_back(std::uint64_t buffer) override;

  /// Binds it, and offers it buffers. Errors: resource.
  [[nodiscard]] Result<void> start(Handle<fid_ep> endpoint, fid_eq& events, fid_cq& completions);
  [[nodiscard]] fid_ep& endpoint() noexcept { return *endpoint_; }
  [[nodiscard]] ConnectionState& state() noexcept { return state_; }

  /// `called`: by this device's `connect`, so the owner wants to hear of it.
  void on_connected(bool called);
  void on_completion(const CompletionToken& token, std::size_t bytes);
  void on_failed_completion(const CompletionToken& token, int error);
  /// Every operation under way is told as lost.
  void break_down(std::string reason);
  void progress(Time now);
  [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
  /// The provider takes what it does not take now when something that it has is over, and that its queue tells.
  [[nodiscard]] Time next_look() const noexcept { return state_.silent_at(!order_.empty()); }

 private:
  void flush();
  /// Tells the completions whose turn it is.
  void tell();

  OfiConnections& connections_;
  OfiShared& shared_;
  ConnectionState state_;
  PendingOperations pending_;
  ReceiveBuffers buffers_;
  DeviceEvents events_;
  std::deque<std::uint32_t> order_;  // places, as posted
  std::size_t given_ = 0;            // of `order_`, from its front
  Handle<fid_ep> endpoint_;
};

class OfiConnections {
 public:
  OfiConnections(PhysicalDevice& device, ProviderDomain& domain, OfiShared& shared)
      : device_(device), provider_domain_(domain), shared_(shared), connections_(shared.answer_max) {}

  /// Listens. `source`: this host's address, without a port. Errors: resource.
  [[nodiscard]] Result<void> open(const SocketAddress& source);
  [[nodiscard]] Result<SocketAddress> address() { return ProviderDomain::address_of(listener_->fid); }

  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const OfiName& peer, std::uint64_t token);
  void progress(Time now);
  [[nodiscard]] ConnectionTable<OfiConnection>& table() noexcept { return connections_; }
  /// As PhysicalDevice has them.
  [[nodiscard]] bool may_block() noexcept;

 private:
  [[nodiscard]] Result<std::unique_ptr<OfiConnection>> make(Handle<fid_ep> endpoint);
  void drain_events();
  void drain_completions();
  void on_request(fi_info& info, std::span<const std::byte> data);
  void on_event_error();
  [[nodiscard]] OfiConnection* find(fid_t which) noexcept;

  PhysicalDevice& device_;
  ProviderDomain& provider_domain_;
  OfiShared& shared_;
  SocketAddress source_;
  Handle<fid_eq> events_;
  Handle<fid_cq> completions_;
  Handle<fid_pep> listener_;
  std::size_t queue_pairs_max_ = 0;
  ConnectionTable<OfiConnection> connections_;
  std::uint32_t passes_ = 0;
  bool unsettled_ = false;
};

}  // namespace spindrift::kernel::ofi
