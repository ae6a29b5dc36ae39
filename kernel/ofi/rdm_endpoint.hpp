// A connectionless endpoint (FI_EP_RDM): operations to many peers, each peer's in their order, and none kept back by
// another's.
//
// Remember: the provider makes and remakes its connections without a word. So after an operation to a peer has failed,
// nothing that was posted to that peer before the failure was told may still be handed over: it would arrive although what
// went before it did not.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include <spindrift/core/absence.hpp>
#include <spindrift/kernel/ofi/pending_operations.hpp>
#include <spindrift/kernel/receive_buffers.hpp>
#include <spindrift/kernel/ofi/listener_probe.hpp>
#include <spindrift/kernel/ofi/ofi_shared.hpp>
#include <spindrift/kernel/ofi/provider_domain.hpp>

namespace spindrift::kernel::ofi {

class RdmEndpoint {
 public:
  RdmEndpoint(ProviderDomain& domain, OfiShared& shared);

  /// Makes the endpoint, at `source`; port 0: any. Also after `break_down`. Errors: resource.
  [[nodiscard]] Result<void> open(const SocketAddress& source);
  [[nodiscard]] Result<SocketAddress> address() { return ProviderDomain::address_of(endpoint_->fid); }
  /// Whether somebody takes its events; without, no message is taken from the provider.
  void set_used(bool used);
  [[nodiscard]] bool used() const noexcept { return used_; }
  /// Its owner is gone: what was under way is told to nobody, and it is broken until it is opened again.
  void shut();

  [[nodiscard]] std::size_t post(std::span<const PhysicalOperation> operations);
  [[nodiscard]] std::size_t take(std::span<PhysicalEvent> events);
  [[nodiscard]] bool has_events() const noexcept { return !events_.empty(); }
  void give_back(std::uint64_t buffer);
  void forget(PeerHandle peer);
  /// Takes from the provider what it has, offers what waits, and looks whom it has not heard for too long.
  void progress(Time now);
  [[nodiscard]] bool broken() const noexcept { return endpoint_ == nullptr; }
  /// As PhysicalDevice has them.
  [[nodiscard]] bool may_block() noexcept;
  [[nodiscard]] Time next_look() const noexcept;

 private:
  /// The way to one peer.
  struct PeerQueue {
    fi_addr_t to = FI_ADDR_UNSPEC;
    std::deque<std::uint32_t> waiting;
    std::uint32_t given = 0;
    std::uint32_t abandoned = 0;  ///< while there are any, nothing is posted to it
    std::uint32_t tries = 0;      ///< in vain, since the provider took something last
    bool answered = false;        ///< something that went there has arrived
    bool failed = false;          ///< and the owner has not been told yet: until then nothing is posted to it either
    Time next_try{};
    Time heard{};                          ///< the last answer, or when there was something to be answered again
    std::optional<ListenerProbe> probe{};  ///< since the provider took something last

    /// The connection is gone, and the provider has not made another yet.
    [[nodiscard]] bool refused() const noexcept { return answered && given == 0 && tries > 0; }
  };

  void accept(const PhysicalOperation& operation);
  [[nodiscard]] PeerQueue* queue_for(PeerHandle peer);
  void flush(PeerQueue& queue);
  void probe_listener(PeerHandle peer, PeerQueue& queue);
  [[nodiscard]] PeerQueue* take_back(std::uint32_t place);
  void on_completion(const CompletionToken& token, std::size_t bytes);
  void on_failed_completion(const CompletionToken& token, int error);
  void on_failure(PeerQueue& queue);
  void look_for_silence();
  [[nodiscard]] Time silent_at(const PeerQueue& queue) const noexcept;
  [[nodiscard]] bool lose(PeerHandle peer, PeerQueue& queue);
  void finish(std::uint32_t place, OperationStatus status);
  /// Offers the provider the buffers that are free, while somebody takes what comes. False if it refuses for good.
  [[nodiscard]] bool offer_buffers();
  /// The status of everything that is under way is told, and the endpoint goes.
  void break_down(std::string reason);
  void close();

  ProviderDomain& provider_domain_;
  OfiShared& shared_;
  PendingOperations pending_;
  ReceiveBuffers buffers_;
  DeviceEvents events_;
  std::map<PeerHandle, PeerQueue> queues_;  // ordered, so that runs can be compared
  SocketAddress source_;
  std::uint32_t life_ = 0;
  Time now_{};
  Absence absence_;
  bool used_ = false;
  bool failure_untold_ = false;  ///< some queue's `failed`
  Handle<fid_av> addresses_;
  Handle<fid_cq> completions_;
  Handle<fid_ep> endpoint_;  // goes before what it is bound to
};

}  // namespace spindrift::kernel::ofi
