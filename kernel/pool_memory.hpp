// The memory that a pool's user has registered, and what requests may do with it.
//
// Remember: the key that users name is the pool's own and never used again; the device's key never leaves the pool.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>
#include <spindrift/kernel/vq.h>

namespace spindrift::kernel {

class PoolMemory {
 public:
  explicit PoolMemory(PhysicalDevice& device) : device_(device) {}
  ~PoolMemory() { clear(); }
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

  /// `access`: of peers; none: no peer reaches it. Errors: resource, bad_argument.
  [[nodiscard]] Result<MemoryKeys> add(std::span<std::byte> memory, std::optional<fabric::Access> access);
  /// No own operation on it may be under way. Unknown keys are ignored.
  void remove(const MemoryKeys& keys);
  /// Gives all of it back to the device.
  void clear();

  /// Whether the request lies in the registration that it names, which peers may read if they are to fetch the bytes.
  [[nodiscard]] bool allows(const vq_request& request) const;
  /// Names the bytes of a large send as its peer will name them, if they are registered at all.
  void name_for_peer(vq_request& request) const;
  /// The device's name for the pool's key; 0 if there is no such registration.
  [[nodiscard]] std::uint64_t device_key(std::uint64_t key) const;

 private:
  struct Registration {
    std::span<std::byte> memory;
    std::optional<fabric::Access> access;
    MemoryKeys keys;
  };

  PhysicalDevice& device_;
  std::unordered_map<std::uint64_t, Registration> registered_;  ///< by the pool's key
  std::uint64_t newest_key_ = 0;
};

}  // namespace spindrift::kernel
