// The device over libfabric: both classes of queue pairs next to each other, over what they share.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <spindrift/kernel/ofi/rdm_endpoint.hpp>
#include <spindrift/kernel/ofi/ofi_connections.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>
#include <spindrift/kernel/ofi/ofi_shared.hpp>

namespace spindrift::kernel::ofi {

/// The first of `endpoints_` is made with the device, for peers reach the device's memory through it, whether anybody has
/// opened it or not. The others are made when they are opened.
class OfiDevice final : public PhysicalDevice {
 public:
  explicit OfiDevice(const OfiDeviceOptions& options);

  /// Errors: as `make_ofi_device`.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] Result<PeerHandle> resolve(const Metadata& peer) override;
  void forget(PeerHandle peer) override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> open() override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const Metadata& peer, std::uint64_t token) override;
  [[nodiscard]] Accepted accepted() override;
  /// With both providers.
  [[nodiscard]] Result<MemoryKeys> register_memory(std::span<std::byte> memory,
                                                   std::optional<fabric::Access> access) override;
  void deregister(const MemoryKeys& keys) override;
  [[nodiscard]] int descriptor() const noexcept override { return shared_.waits.descriptor(); }
  [[nodiscard]] bool may_block() noexcept override;
  [[nodiscard]] Time next_look() const noexcept override;

  /// Takes what the provider has of every queue pair, and offers what waits.
  void progress() override;
  void end() noexcept override { ends_ = true; }
  /// Makes a broken endpoint anew, the first one where it was. Errors: resource.
  [[nodiscard]] Result<void> reopen(RdmEndpoint& endpoint);
  /// Its queue pair is gone.
  void close(RdmEndpoint& endpoint);

 private:
  struct Registration {
    Handle<fid_mr> connectionless;
    Handle<fid_mr> connected;
  };

  /// Opens the class of that provider, and puts it into the device's name. Errors: as `make_ofi_device`.
  [[nodiscard]] Result<void> start_connectionless(const SocketAddress& at);
  [[nodiscard]] Result<void> start_connected(const SocketAddress& at);
  void set_traits();

  const OfiDeviceOptions options_;
  const SystemClock system_clock_;
  OfiName name_;
  std::unique_ptr<ProviderDomain> connectionless_domain_;
  std::unique_ptr<ProviderDomain> connected_domain_;
  OfiShared shared_;
  std::unordered_map<std::uint64_t, Registration> registered_;  ///< by key; they go before their domains
  std::unique_ptr<OfiConnections> connections_;
  bool ends_ = false;
  std::vector<std::unique_ptr<RdmEndpoint>> endpoints_;
};

}  // namespace spindrift::kernel::ofi
