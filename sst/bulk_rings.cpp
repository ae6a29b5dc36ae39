// Places of bulk rings and their mirrors.
#include <spindrift/sst/bulk_rings.hpp>

#include <spindrift/core/check.hpp>

namespace spindrift::sst {

BulkRings::BulkRings(const SubgroupView& subgroup, NodeId self)
    : subgroup_(subgroup), self_(self), mapped_(subgroup.senders.size()), remote_(subgroup.members.size()) {
  CHECK(subgroup.profile.bulk_ring_bytes > 0 && subgroup.member_position(self));
}

std::uint64_t BulkRings::mirrors_bytes(const SubgroupView& subgroup, NodeId reader) noexcept {
  const std::uint64_t own = subgroup.sender_rank(reader) ? 1 : 0;
  return (subgroup.senders.size() - own) * subgroup.profile.bulk_ring_bytes;
}

std::uint64_t BulkRings::mirror_offset(const SubgroupView& subgroup, NodeId reader, std::size_t sender) noexcept {
  const auto own = subgroup.sender_rank(reader);
  return (own && own->value() < sender ? sender - 1 : sender) * subgroup.profile.bulk_ring_bytes;
}

void BulkRings::set_own(std::span<std::byte> ring) {
  CHECK(ring.size() >= subgroup_.profile.bulk_ring_bytes && subgroup_.sender_rank(self_));
  own_ = ring.first(subgroup_.profile.bulk_ring_bytes);
}

void BulkRings::set_mirrors(std::span<std::byte> mirrors) {
  CHECK(mirrors.size() >= mirrors_bytes(subgroup_, self_));
  mirrors_ = mirrors;
}

void BulkRings::attach_mapped(NodeId sender, std::span<const std::byte> ring) {
  CHECK(ring.size() >= subgroup_.profile.bulk_ring_bytes);
  mapped_[subgroup_.sender_rank(sender)->value()] = ring.data();
}

void BulkRings::attach_mirrored(NodeId member, fabric::RegionKey remote) {
  remote_[*subgroup_.member_position(member)] = remote;
}

const std::byte* BulkRings::ring(std::size_t sender) const {
  if (subgroup_.senders[sender] == self_) return own_.data();
  if (mapped_[sender] != nullptr) return mapped_[sender];
  CHECK(!mirrors_.empty());
  return mirrors_.data() + mirror_offset(subgroup_, self_, sender);
}

fabric::Operation BulkRings::write_to(NodeId member, std::size_t sender, std::uint64_t offset, std::uint64_t bytes) const {
  const auto& remote = remote_[*subgroup_.member_position(member)];
  CHECK(remote.has_value() && subgroup_.senders[sender] != member);
  CHECK(offset + bytes <= subgroup_.profile.bulk_ring_bytes);
  return {.kind = fabric::Operation::Kind::write,
          .peer = {},
          .local = const_cast<std::byte*>(ring(sender)) + offset,  // not written through
          .bytes = bytes,
          .region = *remote,
          .offset = mirror_offset(subgroup_, member, sender) + offset};
}

}  // namespace spindrift::sst
