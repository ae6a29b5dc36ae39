// The peers that a pool's pairs talk to, by their metadata: each is resolved once, and forgotten with the last that uses it.
//
// Remember: a lost peer stays known, as a lost one, while pairs to it are open; so nobody connects to it by mistake.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

struct PhysicalPair;

struct PoolPeer {
  PeerHandle handle;
  std::uint32_t users = 0;               ///< virtual pairs and connected queue pairs
  std::optional<Metadata> introduced{};  ///< how connected queue pairs reach it, if that is not as it is named
  bool lost = false;
  std::uint64_t posts = 0;            ///< in this sample period
  PhysicalPair* connected = nullptr;  ///< on the way, or up
  std::uint32_t passes_left = 0;      ///< until it counts as lost, unless one brings nothing before; 0: it is well
};

class PoolPeers {
 public:
  using Map = std::map<Metadata, PoolPeer, MetadataOrder>;
  using Place = Map::iterator;

  explicit PoolPeers(PhysicalDevice& device) : device_(device) {}
  ~PoolPeers();
  PoolPeers(const PoolPeers&) = delete;
  PoolPeers& operator=(const PoolPeers&) = delete;

  /// One more user of the peer, known or not. Errors: bad_argument, resource, member_lost (and still has users).
  [[nodiscard]] Result<Place> join(const Metadata& metadata);
  void join(Place peer) noexcept { ++peer->second.users; }
  void leave(Place peer);

  [[nodiscard]] Place find(const Metadata& metadata) { return peers_.find(metadata); }
  [[nodiscard]] PoolPeer* find(PeerHandle handle) noexcept;
  [[nodiscard]] Map& all() noexcept { return peers_; }
  /// How many were forgotten so far.
  [[nodiscard]] std::uint64_t forgotten() const noexcept { return forgotten_; }

  /// The peer's last words before its connection broke may be on their way over another one, and come before the news of
  /// its loss: it counts as lost a few passes from now.
  void doom(PoolPeer& peer) noexcept;
  [[nodiscard]] bool any_doomed() const noexcept { return doomed_; }
  /// After a pass, which was `quiet` if it brought nothing: the peers that count as lost from now on.
  [[nodiscard]] std::vector<Metadata> take_lost(bool quiet);

 private:
  PhysicalDevice& device_;
  Map peers_;
  std::uint64_t forgotten_ = 0;
  bool doomed_ = false;  ///< some peer is
};

}  // namespace spindrift::kernel
