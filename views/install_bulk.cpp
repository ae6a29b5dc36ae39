// The memory of large messages from one view to the next: own bulk rings, mirrors of the others', and who may use which.
//
// The invariant to remember: what a member exposes to whom is a function of the subgroup, so each knows what to wait for
// before it reads the other's row.
#include <algorithm>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::views {

// Mirrors are allocated when the first peer is met that needs one.
Result<std::vector<Epoch::Bulk>> Member::allocate_bulk(const View& view) {
  std::vector<Epoch::Bulk> bulk(view.subgroups.size());
  for (std::size_t s = 0; s < bulk.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    if (subgroup.profile.bulk_ring_bytes == 0 || !subgroup.sender_rank(self())) continue;
    auto region = fabric_.allocate(subgroup.profile.bulk_ring_bytes, "bulk ring");
    if (!region) return std::move(region).error();
    bulk[s].own = *region;
  }
  return bulk;
}

// Whether `from` exposes something of this subgroup to `to`: its bulk ring to be read, or mirrors to be written, by a sender
// of its own messages, and by any other that may hand on somebody's.
bool Member::shows_bulk(const SubgroupView& subgroup, NodeId from, NodeId to, bool mapped) const {
  if (subgroup.profile.bulk_ring_bytes == 0) return false;
  if (!subgroup.member_position(from) || !subgroup.member_position(to)) return false;
  if (mapped) return subgroup.sender_rank(from).has_value();
  if (sst::BulkRings::mirrors_bytes(subgroup, from) == 0) return false;
  return subgroup.sender_rank(to).has_value() || options_.policy.relay != smc::Relay::direct;
}

bool Member::offer_bulk(Peer& peer) {
  Epoch& present = *epoch();
  const View& view = present.view();
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    if (!shows_bulk(view.subgroups[s], self(), peer.address.node, peer.mappable)) continue;
    Epoch::Bulk& bulk = present.bulk(SubgroupId(s));
    if (!peer.mappable && !bulk.mirrors) {
      auto mirrors = fabric_.allocate(sst::BulkRings::mirrors_bytes(view.subgroups[s], self()), "bulk mirrors");
      if (!mirrors) {
        fail(std::move(mirrors).error());
        return false;
      }
      bulk.mirrors = *mirrors;
      present.table().bulk(SubgroupId(s)).set_mirrors(mirrors->memory);
    }
    send_to(peer, encode(BulkNotice{present.id(), SubgroupId(s)}));
    const fabric::RegionKey offered = peer.mappable ? bulk.own->key : bulk.mirrors->key;
    const auto access = peer.mappable ? fabric::Access::read : fabric::Access::write;
    if (auto exposed = fabric_.expose(peer.id, offered, access); !exposed) {
      fail(std::move(exposed).error());
      return false;
    }
  }
  return true;
}

// Of the present view: the rings of that member's messages, or its mirrors.
void Member::attach_bulk(Rank rank, Peer& peer) {
  Epoch& present = *epoch();
  const NodeId node = peer.address.node;
  for (std::uint32_t s = 0; s < present.view().subgroups.size(); ++s) {
    const SubgroupView& subgroup = present.view().subgroups[s];
    if (!shows_bulk(subgroup, node, self(), peer.mappable)) continue;
    const auto offered = peer.offers.extract({present.id(), SubgroupId(s)});
    if (offered.empty()) return present.change().suspect(rank, "it did not show its bulk rings before its row");
    const Peer::Offer offer = offered.mapped();
    present.line(rank).their_bulk.emplace_back(peer.id, offer.region);
    const std::uint64_t needed =
        peer.mappable ? subgroup.profile.bulk_ring_bytes : sst::BulkRings::mirrors_bytes(subgroup, node);
    if (offer.bytes < needed) return present.change().suspect(rank, "it exposed bulk rings of the wrong size");
    sst::BulkRings& rings = present.table().bulk(SubgroupId(s));
    if (!peer.mappable) {
      rings.attach_mirrored(node, offer.region);
      continue;
    }
    auto ring = fabric_.map(peer.id, offer.region);
    if (!ring) return present.change().suspect(rank, "its bulk ring cannot be mapped: " + ring.error().to_string());
    rings.attach_mapped(node, *ring);
  }
}

}  // namespace spindrift::views
