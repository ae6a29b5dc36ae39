// The device over rdma-core: both classes of queue pairs over one adapter's domain and completion queue.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include <spindrift/kernel/verbs/connectionless_half.hpp>
#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/verbs_device.hpp>

namespace spindrift::kernel::verbs {

class VerbsDevice final : public PhysicalDevice {
 public:
  explicit VerbsDevice(const VerbsDeviceOptions& options);
  ~VerbsDevice() override;

  /// Errors: as `make_verbs_device`.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] Result<PeerHandle> resolve(const Metadata& peer) override;
  void forget(PeerHandle peer) override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> open() override;
  [[nodiscard]] Result<std::unique_ptr<PhysicalQueuePair>> connect(const Metadata& peer, std::uint64_t token) override;
  [[nodiscard]] Accepted accepted() override { return connections_.table().take(*this); }
  [[nodiscard]] Result<MemoryKeys> register_memory(std::span<std::byte> memory,
                                                   std::optional<fabric::Access> access) override;
  void deregister(const MemoryKeys& keys) override;
  [[nodiscard]] int descriptor() const noexcept override { return shared_.waits.descriptor(); }
  [[nodiscard]] bool may_block() noexcept override;
  [[nodiscard]] Time next_look() const noexcept override;
  void progress() override;

  /// Hands each completion to its queue pair; whether there was one.
  bool take_completions();

 private:
  void set_traits();

  const VerbsDeviceOptions options_;
  const SystemClock system_clock_;
  VerbsName name_;
  VerbsShared shared_;
  std::unordered_map<std::uint64_t, Handle<ibv_mr>> registered_;  ///< by local key; goes before its domain
  bool armed_ = false;
  std::unique_ptr<ConnectionlessHalf> connectionless_;  ///< null: this class is not offered
  VerbsConnections connections_;
};

}  // namespace spindrift::kernel::verbs
