// A device over libfabric: connectionless queue pairs of a provider with FI_EP_RDM endpoints, connected ones of a provider
// with FI_EP_MSG endpoints, or both side by side behind one device, so that a pool chooses for each peer by its use (KRCore,
// section 4.3). Memory is registered with both under one key; the metadata holds the address and both ports.
//
// This device claims nothing that TCP cannot tell:
// * Every operation is acknowledged by the peer's provider (FI_DELIVERY_COMPLETE), so a completion proves that the bytes are
//   in the peer's memory. That costs an answer per operation. Without it a connectionless provider that lost a connection
//   would silently make another one, and a later write would land although an earlier one, completed, never did.
// * That is so of messages too, but not with ofi_rxm, which acknowledges none: its completed messages are on their way, and
//   those on their way are lost without a word if the connection breaks.
// * Libfabric's tcp providers answer an access that they refuse (key, range, right) by ending the connection. So it, and
//   what was under way to the same peer, end as `peer_lost`; the next operation finds a new connection. Other peers notice
//   nothing.
// * A message that finds no buffer waits, in order with everything else of its connection; `not_ready` does not occur.
// * A connectionless provider completes operations to different peers in any order: `ordered_completions` is true of a
//   device that offers connected queue pairs alone. Those hold a completion back until all before it are there.
// * A peer that does not answer for `answer_max` is `peer_lost`. What the provider still holds of it then is a copy, or, of
//   an operation of more than `message_bytes_max` bytes, the caller's memory: only that breaks a connectionless queue pair.
// * A connectionless provider does not say that a connection has ended with nothing under way. So a peer that has answered
//   before is called by the device itself when the provider refuses the next operation: if nobody listens there any more,
//   it is `peer_lost` at once; otherwise it is if the provider has made no other connection for a second.
//
// Rdma-core's devices are not taken through libfabric ("verbs", "verbs;ofi_rxm"): decision 0020.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

struct OfiDeviceOptions {
  std::string connectionless = "tcp;ofi_rxm";  ///< or "net"; empty: this class is not offered
  std::string connected = "tcp";               ///< empty: this class is not offered
  std::string listen;  ///< "host:port" or "[v6]:port" of one interface of this host, no wildcard. The port is that of
                       ///< the connectionless class, or of the connected one alone; 0: any. Of two, the second is any.
  DeviceSizes sizes;
  Duration answer_max = std::chrono::seconds(5);  ///< above 0; longer than the longest operation takes, and than peers ever
                                                  ///< go without polling
  const Clock* clock = nullptr;                   ///< outlives the device; null: the system's
};

/// Loads libfabric, and listens. Errors: bad_argument (options), unsupported (no libfabric, no such provider, or verbs),
/// resource, also if the port is in use or the address is not this host's. May wait for a name server if `listen` names a
/// host.
[[nodiscard]] Result<std::unique_ptr<PhysicalDevice>> make_ofi_device(const OfiDeviceOptions& options);

}  // namespace spindrift::kernel
