// The connectionless half of a device, as the device sees it: DC queue pairs, or nothing where this was built without them.
#pragma once

#include <memory>
#include <string>

#include <spindrift/kernel/verbs/connections.hpp>
#include <spindrift/kernel/verbs/name.hpp>

namespace spindrift::kernel::verbs {

class Connectionless {
 public:
  virtual ~Connectionless() = default;

  [[nodiscard]] virtual TargetName target() const noexcept = 0;
  /// Errors: resource.
  [[nodiscard]] virtual Result<PeerHandle> add(const TargetName& peer) = 0;
  virtual void remove(PeerHandle peer) = 0;
  /// Errors: resource.
  [[nodiscard]] virtual Result<std::unique_ptr<PhysicalQueuePair>> open() = 0;
  /// Of a completion that no connection has.
  virtual void on_completion(const Token& token, const ibv_wc& completion) = 0;
  /// Buffers that came back go to the adapter.
  virtual void progress() = 0;
  /// Whether nobody has an event to take.
  [[nodiscard]] virtual bool quiet() const noexcept = 0;
};

/// Errors: unsupported (no DC: with the reason, and what to use instead), resource.
[[nodiscard]] Result<std::unique_ptr<Connectionless>> open_connectionless(VerbsDevice& device, Ground& ground);

}  // namespace spindrift::kernel::verbs
