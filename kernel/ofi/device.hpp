// The device over libfabric: both classes of queue pairs side by side, over what they share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <spindrift/kernel/ofi/connectionless.hpp>
#include <spindrift/kernel/ofi/connections.hpp>
#include <spindrift/kernel/ofi/ofi_device.hpp>
#include <spindrift/kernel/ofi/shelf.hpp>

namespace spindrift::kernel::ofi {

/// The first of `endpoints_` is made with the device, for peers reach the device's memory through it, whether anybody has
/// opened it or not. The others are made when they are opened.
class OfiDevice final : public Device {
 public:
  explicit OfiDevice(const OfiDeviceOptions& options);

  /// Errors: as `make_ofi_device`.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] const DeviceTraits& traits() const noexcept override { return traits_; }
  [[nodiscard]] const Metadata& metadata() const noexcept override { return metadata_; }
  [[nodiscard]] Result<PeerHandle> resolve(const Metadata& peer) override;
  void forget(PeerHandle peer) override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> open() override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const Metadata& peer, std::uint64_t token) override;
  [[nodiscard]] Accepted accepted() override;
  [[nodiscard]] Result<MemoryKeys> register_memory(std::span<std::byte> memory, fabric::Access access) override;
  [[nodiscard]] Result<MemoryKeys> register_local(std::span<std::byte> memory) override;
  void deregister(const MemoryKeys& keys) override { shelf_.regions.remove(keys.local_key); }
  [[nodiscard]] int descriptor() const noexcept override { return shelf_.waits.get(); }
  [[nodiscard]] bool may_block() noexcept override;
  [[nodiscard]] Time next_look() const noexcept override;

  /// Of every queue pair: what the provider has is taken, what waits is offered.
  void progress() override;
  void end() noexcept override { ends_ = true; }
  /// Makes a broken endpoint anew, the first one where it was. Errors: resource.
  [[nodiscard]] Result<void> reopen(Connectionless& endpoint);
  /// Its queue pair is gone.
  void close(Connectionless& endpoint);

 private:
  const OfiDeviceOptions options_;
  const SystemClock system_clock_;
  DeviceTraits traits_;
  Metadata metadata_;
  Name name_;
  std::string traits_name_;
  std::unique_ptr<Side> connectionless_side_;
  std::unique_ptr<Side> connected_side_;
  Shelf shelf_;  // its regions go before what they are registered with
  std::unique_ptr<Connections> connections_;
  bool ends_ = false;
  std::vector<std::unique_ptr<Connectionless>> endpoints_;
};

}  // namespace spindrift::kernel::ofi
