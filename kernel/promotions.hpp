// Connected queue pairs: made in the background to the peers that are talked to most, taken away from those that are not any
// more, and the way of virtual queue pairs there and back. (KRCore, section 4.5.)
//
// Remember: a virtual pair changes its queue pair when nothing of it is under way there. Where completions prove nothing,
// its peer is asked first whether all has arrived.
#pragma once

#include <cstdint>
#include <set>

#include <spindrift/core/clock.hpp>
#include <spindrift/kernel/physical_pairs.hpp>
#include <spindrift/kernel/pool_peers.hpp>
#include <spindrift/kernel/virtual_pairs.hpp>

namespace spindrift::kernel {

class Promotions {
 public:
  Promotions(PhysicalDevice& device, PoolPeers& peers, PhysicalPairs& physicals, VirtualPairs& pairs,
             const PoolOptions& options)
      : device_(device), peers_(peers), physicals_(physicals), pairs_(pairs), options_(options) {}

  /// Takes in the queue pairs that peers have made. The device makes progress.
  void take_accepted();
  void on_connected(PhysicalPair& physical);
  /// Its pairs go on over a connectionless one, with what was flushed; but where completions prove nothing, nobody knows
  /// what of their completed requests has arrived, and they fail.
  void on_broken(PhysicalPair& physical);
  /// The peer's connected queue pair, which may never hear of the loss, goes too: else the peer would stay known.
  void on_lost(PoolPeer& peer);
  /// At the end of each sample period.
  void sample(Time now);
  /// Those that nobody uses any more go.
  void erase_unused();

  struct Counts {
    std::uint64_t connected = 0, moves = 0, breaks = 0;
  };
  [[nodiscard]] const Counts& counts() const noexcept { return counts_; }

 private:
  void give_up_moves();
  [[nodiscard]] bool make_room_for(std::uint64_t posts);
  void call(PoolPeers::Place peer);
  void move(const VirtualPair& pair, const vq_pair& core, PhysicalPair& to);
  void retire(PhysicalPair& physical);
  void turn_back(const PhysicalPair& physical);
  void carry_over(PhysicalPair& physical);

  PhysicalDevice& device_;
  PoolPeers& peers_;
  PhysicalPairs& physicals_;
  VirtualPairs& pairs_;
  const PoolOptions options_;
  Time next_sample_{};
  std::set<PairId> moving_;  ///< at the end of the last sample period
  Counts counts_;
};

}  // namespace spindrift::kernel
