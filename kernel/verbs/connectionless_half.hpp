// The connectionless half of a device, as the device sees it: DC queue pairs, or nothing where this was built without them.
#pragma once

#include <memory>

#include <spindrift/kernel/verbs/verbs_connections.hpp>
#include <spindrift/kernel/verbs/verbs_name.hpp>

namespace spindrift::kernel::verbs {

class ConnectionlessHalf {
 public:
  virtual ~ConnectionlessHalf() = default;

  [[nodiscard]] virtual TargetName target() const noexcept = 0;
  /// Errors: resource.
  [[nodiscard]] virtual Result<PeerHandle> add(const TargetName& peer) = 0;
  virtual void remove(PeerHandle peer) = 0;
  /// Errors: resource.
  [[nodiscard]] virtual Result<std::unique_ptr<PhysicalQueuePair>> open() = 0;
  /// No connection has this completion.
  virtual void on_completion(const CompletionToken& token, const ibv_wc& completion) = 0;
  /// Buffers that came back go to the adapter.
  virtual void progress() = 0;
  /// Whether nobody has an event to take.
  [[nodiscard]] virtual bool quiet() const noexcept = 0;
};

/// Errors: unsupported (no DC: with the reason, and what to use instead), resource.
[[nodiscard]] Result<std::unique_ptr<ConnectionlessHalf>> open_connectionless(VerbsDevice& device, VerbsShared& shared);

}  // namespace spindrift::kernel::verbs
