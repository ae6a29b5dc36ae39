// A map of peers with counts of their users.
#include <spindrift/kernel/pool_peers.hpp>

namespace spindrift::kernel {

namespace {

constexpr std::uint32_t passes_to_last_words = 16;

}  // namespace

PoolPeers::~PoolPeers() {
  for (const auto& [metadata, peer] : peers_) device_.forget(peer.handle);
}

Result<PoolPeers::Place> PoolPeers::join(const Metadata& metadata) {
  if (metadata.size > Metadata::bytes_max) return Error(ErrorKind::bad_argument, "metadata are too long");
  auto place = peers_.find(metadata);
  if (place == peers_.end()) {
    SPINDRIFT_TRY_ASSIGN(const PeerHandle handle, device_.resolve(metadata));
    place = peers_.emplace(metadata, PoolPeer{handle}).first;
  } else if (place->second.lost) {
    return Error(ErrorKind::member_lost, "the peer was lost").fix("close the pairs that talked to it, then connect again");
  }
  join(place);
  return place;
}

void PoolPeers::leave(Place peer) {
  if (--peer->second.users > 0) return;
  device_.forget(peer->second.handle);
  peers_.erase(peer);
  ++forgotten_;
}

PoolPeer* PoolPeers::find(PeerHandle handle) noexcept {
  for (auto& [metadata, peer] : peers_) {
    if (peer.handle == handle) return &peer;
  }
  return nullptr;
}

void PoolPeers::doom(PoolPeer& peer) noexcept {
  peer.passes_left = passes_to_last_words;
  doomed_ = true;
}

std::vector<Metadata> PoolPeers::take_lost(bool quiet) {
  std::vector<Metadata> lost;
  if (!doomed_) return lost;
  doomed_ = false;
  for (auto& [metadata, peer] : peers_) {
    if (peer.passes_left == 0) continue;
    peer.passes_left = quiet ? 0 : peer.passes_left - 1;
    if (peer.passes_left == 0) lost.push_back(metadata);
    doomed_ |= peer.passes_left > 0;
  }
  return lost;
}

}  // namespace spindrift::kernel
