// What a device knows of itself and of others, shared by its queue pairs: the peers it has taken in and the memory it has
// registered.
#pragma once

#include <rdma/fi_domain.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/fabric/ofi/library.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/kernel/ofi/name.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::ofi {

class Side;

/// Peers by handle. Who is taken in twice has one handle, and is forgotten when it has been forgotten twice.
class Peers {
 public:
  explicit Peers(std::uint32_t peers_max) : peers_max_(peers_max) {}

  /// Nothing if there are too many.
  [[nodiscard]] std::optional<PeerHandle> add(const Name& name);
  /// Whether it is gone now. Unknown handles are ignored.
  [[nodiscard]] bool remove(PeerHandle peer);
  /// Null if unknown.
  [[nodiscard]] const Name* find(PeerHandle peer) const noexcept;

 private:
  struct Peer {
    Name name;
    std::uint32_t uses = 0;
  };
  const std::uint32_t peers_max_;
  std::vector<Peer> peers_;  // by handle - 1
  std::vector<std::uint32_t> free_;
  std::map<Name, std::uint32_t> places_;  // of peers that are not forgotten
};

/// Registered memory by its key, which is the same with every provider, for own and for peers' operations.
class Regions {
 public:
  struct Registration {
    std::span<std::byte> memory;
    fabric::ofi::Handle<fid_mr> connectionless;
    fabric::ofi::Handle<fid_mr> connected;
  };
  /// False if the key is in use.
  [[nodiscard]] bool add(std::uint64_t key, Registration registration);
  void remove(std::uint64_t key);
  /// Whether the bytes are in memory of that key. An operation without bytes needs none.
  [[nodiscard]] bool hold(std::uint64_t key, const std::byte* first, std::size_t bytes) const noexcept;

 private:
  std::unordered_map<std::uint64_t, Registration> registrations_;
};

/// What every queue pair of a device may look at; outlives them.
struct Shelf {
  DeviceSizes sizes;
  Duration answer_max{};
  const Clock* clock = nullptr;
  Peers peers;
  Regions regions;
  std::uint64_t lives = 0;  ///< given out to endpoints, see Token
  FileDescriptor waits{};   ///< an epoll instance over every queue's descriptor

  [[nodiscard]] std::uint64_t new_life() noexcept { return ++lives; }
  /// From here on until it is closed, the queue of that side makes `waits` readable. Errors: resource.
  [[nodiscard]] Result<void> wait_for(const Side& side, fid& queue) const;
  /// Whether this process itself may post it: done, or local_error.
  [[nodiscard]] Status judge(const PhysicalOperation& operation) const noexcept;
  /// Whether a copy of its bytes is made for the provider, so that it can be given up with the provider still at it.
  [[nodiscard]] bool fits_copy(const PhysicalOperation& operation) const noexcept {
    return operation.bytes + operation.header.size() <= sizes.message_bytes_max;
  }
};

}  // namespace spindrift::kernel::ofi
