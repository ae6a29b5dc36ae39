// What a device knows of itself and of others, shared by its queue pairs: the peers it has taken in and the memory it has
// registered.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/own_memory.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::ofi {

class ProviderDomain;

/// Peers by handle. Who is taken in twice has one handle, and is forgotten when it has been forgotten twice.
class Peers {
 public:
  explicit Peers(std::uint32_t peers_max) : peers_max_(peers_max) {}

  /// Nothing if there are too many.
  [[nodiscard]] std::optional<PeerHandle> add(const OfiName& name);
  /// Whether it is gone now. Unknown handles are ignored.
  [[nodiscard]] bool remove(PeerHandle peer);
  /// Null if unknown.
  [[nodiscard]] const OfiName* find(PeerHandle peer) const noexcept;

 private:
  struct Peer {
    OfiName name;
    std::uint32_t uses = 0;
  };
  const std::uint32_t peers_max_;
  std::vector<Peer> peers_;  // by handle - 1
  std::vector<std::uint32_t> free_;
  std::map<OfiName, std::uint32_t> places_;  // of peers that are not forgotten
};

/// What every queue pair of a device may look at; outlives them.
struct OfiShared {
  DeviceSizes sizes;
  Duration answer_max{};
  const Clock* clock = nullptr;
  Peers peers;
  OwnMemory memory;
  std::uint32_t lives = 0;  ///< given out to endpoints, never twice
  FileDescriptor waits{};   ///< an epoll instance over every queue's descriptor

  [[nodiscard]] std::uint32_t new_life() noexcept { return ++lives; }
  /// From here on until it is closed, the queue of that domain makes `waits` readable. Errors: resource.
  [[nodiscard]] Result<void> wait_for(const ProviderDomain& domain, fid& queue) const;
  /// Whether this process itself may post it: done, or local_error.
  [[nodiscard]] Status judge(const PhysicalOperation& operation) const noexcept;
  /// Whether a copy of its bytes is made for the provider, so that it can be given up with the provider still at it.
  [[nodiscard]] bool fits_copy(const PhysicalOperation& operation) const noexcept {
    return operation.bytes + operation.header.size() <= sizes.message_bytes_max;
  }
};

}  // namespace spindrift::kernel::ofi
