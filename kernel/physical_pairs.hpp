// The physical queue pairs of a pool, each with what the core keeps of it: connectionless ones, which stay as long as the
// pool, and connected ones, which come and go.
//
// Remember: the connectionless ones are the first in the list, in the order in which they were opened.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>
#include <spindrift/kernel/pool_memory.hpp>
#include <spindrift/kernel/pool_peers.hpp>
#include <spindrift/kernel/vq.h>

namespace spindrift::kernel {

struct PhysicalPair {
  enum class Role : std::uint8_t {
    connectionless,
    calling,    ///< a connected one that is not up yet
    connected,  ///< to `peer`; its pairs are bound to it
    passive,    ///< a peer's connected one: it brings messages, nothing is bound to it
    retiring,   ///< its pairs are leaving
    lost,       ///< it broke, and its pairs are leaving
    over,       ///< it broke, and nobody used it
  };
  /// The step that brings all that was posted here under way again.
  enum class Repair : std::uint8_t { none, replay, reset };

  std::unique_ptr<PhysicalQueuePair> queue_pair;
  std::vector<vq_slot> slots;
  vq_physical core{};
  Role role = Role::connectionless;
  Repair repair = Repair::none;
  std::optional<PoolPeers::Place> peer;  ///< of a connected one that was made here
};

class PhysicalPairs {
 public:
  PhysicalPairs(PhysicalDevice& device, const PoolMemory& memory) : device_(device), memory_(memory) {}

  /// Opens `count` connectionless ones. Once. Errors: resource.
  [[nodiscard]] Result<void> open(std::uint32_t count);
  /// Ends all that is under way: from then on nothing that the queue pairs were told of is touched.
  void clear() noexcept { all_.clear(); }
  PhysicalPair& add(std::unique_ptr<PhysicalQueuePair> queue_pair, PhysicalPair::Role role);
  /// Those of which nothing is used any more. `gone(pair)` is asked of each.
  template <class Predicate>
  void erase_if(Predicate&& gone) {
    std::erase_if(all_, [&](const auto& pair) { return gone(*pair); });
  }

  [[nodiscard]] const std::vector<std::unique_ptr<PhysicalPair>>& all() const noexcept { return all_; }
  /// The connectionless one with the fewest virtual pairs.
  [[nodiscard]] PhysicalPair& least_used() const;
  /// The one that a pair to this peer is to be bound to.
  [[nodiscard]] PhysicalPair& best_for(const PoolPeer& peer) const;
  /// Whether a request on the memory of this key (the pool's) is under way.
  [[nodiscard]] bool uses(std::uint64_t local_key) const noexcept;

  /// Hands the core's operations to the device; returns how many were taken.
  [[nodiscard]] std::uint32_t post(PhysicalPair& to, const vq_posted* list, std::uint32_t count) const;

 private:
  PhysicalDevice& device_;
  const PoolMemory& memory_;
  std::vector<std::unique_ptr<PhysicalPair>> all_;
  std::uint32_t connectionless_ = 0;
};

}  // namespace spindrift::kernel
