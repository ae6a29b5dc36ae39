// The bulk rings of one subgroup as one member sees them: its own, which it alone writes; every other sender's, in place
// where its row is mapped, else in a *mirror* here, a ring of the same size, written by the member that hands a message on.
// The mirrors of a subgroup are one region, apart from the rows: so no relay gets at anybody's words.
//
// The invariant to remember: where a ring's mirror lies in a region is a function of (subgroup, reader, sender), so nobody
// sends offsets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::sst {

class BulkRings {
 public:
  /// `self` is a member. The subgroup outlives this object, and has bulk rings.
  BulkRings(const SubgroupView& subgroup, NodeId self);

  /// Bytes of the region in which `reader` has mirrors of the other senders' rings; 0: there are none.
  [[nodiscard]] static std::uint64_t mirrors_bytes(const SubgroupView& subgroup, NodeId reader) noexcept;

  /// This member's ring, zeroed; if it sends.
  void set_own(std::span<std::byte> ring);
  [[nodiscard]] std::span<std::byte> own() const noexcept { return own_; }
  /// The mirrors here, `mirrors_bytes` of this member.
  void set_mirrors(std::span<std::byte> mirrors);
  /// The ring of that sender is read in place.
  void attach_mapped(NodeId sender, std::span<const std::byte> ring);
  /// That member's mirrors can be written, as `remote`.
  void attach_mirrored(NodeId member, fabric::RegionKey remote);

  /// The ring of a sender, by sender rank, as it is seen here. Set before.
  [[nodiscard]] const std::byte* ring(std::size_t sender) const;
  /// The write that brings bytes of a sender's ring from here to a member's mirror, without the peer.
  [[nodiscard]] fabric::Operation write_to(NodeId member, std::size_t sender, std::uint64_t offset,
                                           std::uint64_t bytes) const;

 private:
  [[nodiscard]] static std::uint64_t mirror_offset(const SubgroupView& subgroup, NodeId reader, std::size_t sender) noexcept;

  const SubgroupView& subgroup_;
  NodeId self_;
  std::span<std::byte> own_;
  std::span<std::byte> mirrors_;
  std::vector<const std::byte*> mapped_;                  // by sender rank
  std::vector<std::optional<fabric::RegionKey>> remote_;  // by position: that member's mirrors
};

}  // namespace spindrift::sst
