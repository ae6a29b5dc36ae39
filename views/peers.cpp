// Looks through the nodes that are known.
#include <spindrift/views/peers.hpp>

#include <algorithm>

namespace spindrift::views {
namespace {

constexpr auto node_of = [](const Peer& peer) { return peer.address.node; };

}  // namespace

std::optional<std::string> keeps_out(const View& view, const Peer& peer) {
  const std::uint32_t version = view.roster.version;
  if (peer.standing != Peer::Standing::fresh || version == 0 || peer.versions.speaks(version)) return std::nullopt;
  return std::string(group_speaks) + std::to_string(version) + " of the protocol, and your release " +
         to_string(peer.versions);
}

Peer* Peers::find(NodeId node) noexcept {
  const auto at = std::ranges::find(all_, node, node_of);
  return at == all_.end() ? nullptr : &*at;
}

const Peer* Peers::find(NodeId node) const noexcept {
  const auto at = std::ranges::find(all_, node, node_of);
  return at == all_.end() ? nullptr : &*at;
}

Peer* Peers::find(fabric::PeerId id) noexcept {
  const auto is_it = [id](const Peer& each) { return each.state != Peer::State::away && each.id == id; };
  const auto at = std::ranges::find_if(all_, is_it);
  return at == all_.end() ? nullptr : &*at;
}

void Peers::forget_struck() {
  std::erase_if(all_, [](const Peer& each) { return each.place == Peer::Place::struck && each.state == Peer::State::away; });
}

void Peers::expect(const Roster& also) {
  for (const NodeAddress& each : also.nodes) {
    if (each.node == self_ || !also.admits(each.node)) continue;
    Peer* const known = find(each.node);
    Peer& peer = known == nullptr ? all_.emplace_back() : *known;
    if (known == nullptr) peer.address = each;
    if (known == nullptr || peer.place == Peer::Place::struck) peer.place = Peer::Place::guest;
  }
}

Peer* Peers::host(NodeId node) {
  std::erase_if(all_, [](const Peer& each) { return each.place == Peer::Place::guest && each.state == Peer::State::away; });
  if (node == self_ || all_.size() >= 2 * roster_count_max) return nullptr;
  Peer& guest = all_.emplace_back();
  guest.address.node = node;
  guest.place = Peer::Place::guest;
  return &guest;
}

std::vector<NodeId> Peers::nodes() const {
  std::vector<NodeId> nodes;
  for (const Peer& peer : all_) {
    if (peer.place == Peer::Place::listed) nodes.push_back(peer.address.node);
  }
  return nodes;
}

std::vector<Founding::Met> Peers::met() const {
  std::vector<Founding::Met> met;
  for (const Peer& peer : all_) {
    if (peer.state == Peer::State::agreed)
      met.push_back({peer.who(), peer.standing != Peer::Standing::member, peer.versions});
  }
  return met;
}

std::vector<Apart> Peers::apart() const {
  std::vector<Apart> apart;
  for (const Peer& peer : all_) {
    if (peer.state == Peer::State::apart) apart.push_back(peer.apart);
  }
  return apart;
}

std::optional<PeerConnection> Peers::connection_of(NodeId node) const {
  const Peer* const peer = find(node);
  return peer != nullptr && peer->state == Peer::State::agreed ? std::optional(peer->connection()) : std::nullopt;
}

std::optional<bool> Peers::is_neighbor(NodeId node) const {
  const Peer* const peer = find(node);
  return peer == nullptr ? std::nullopt : peer->mappable;
}

std::optional<std::uint32_t> Peers::spoken_by_all(std::span<const NodeId> nodes, const Versions& own) const {
  std::uint32_t highest = own.newest;
  for (const NodeId node : nodes) {
    if (node == self_) continue;
    const Peer* const peer = find(node);
    if (peer == nullptr || peer->state != Peer::State::agreed) return std::nullopt;
    highest = std::min(highest, peer->versions.newest);
  }
  return highest;
}

std::vector<NodeId> Peers::missing(std::span<const NodeId> nodes) const {
  std::vector<NodeId> missing;
  for (const NodeId node : nodes) {
    const Peer* const peer = find(node);
    if (peer != nullptr && peer->state != Peer::State::agreed) missing.push_back(node);
  }
  return missing;
}

}  // namespace spindrift::views
