// Which memory of a run belongs to bulk rings: own rings of senders, and mirrors of the others'. Or, in a list of its own,
// to rings that are split off rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <spindrift/core/view.hpp>

namespace spindrift::sim {

struct BulkRegion {
  std::uint64_t view = 0;
  std::uint32_t process = 0;
  std::uint32_t subgroup = 0;
  bool own = false;  ///< one ring; otherwise a mirror for each other sender, in the order of sender ranks
  std::size_t bytes = 0;
};

class BulkMemory {
 public:
  void add(const std::byte* memory, const BulkRegion& region) { regions_[memory] = region; }
  void forget() { regions_.clear(); }

  /// A place in a region.
  struct Place {
    const BulkRegion* region;
    std::uint64_t offset;
  };
  /// The region that these bytes lie in.
  [[nodiscard]] std::optional<Place> find(const std::byte* memory) const {
    auto after = regions_.upper_bound(memory);
    if (after == regions_.begin()) return std::nullopt;
    const auto& [begin, region] = *--after;
    if (memory >= begin + region.bytes) return std::nullopt;
    return Place{&region, static_cast<std::uint64_t>(memory - begin)};
  }

  /// The sender, by rank, to whose ring a place belongs; `self` is the node that has the region.
  [[nodiscard]] static std::uint32_t sender_at(const Place& place, const SubgroupView& subgroup, NodeId self) {
    const auto own = subgroup.sender_rank(self);
    if (place.region->own) return own->value();
    const auto slot = static_cast<std::uint32_t>(place.offset / subgroup.profile.bulk_ring_bytes);
    return own && own->value() <= slot ? slot + 1 : slot;
  }

 private:
  std::map<const std::byte*, BulkRegion> regions_;  // by first byte
};

}  // namespace spindrift::sim
