// The layout of a meta table's words, which shows a reader when bytes that it read are torn. A table is a hash table in one
// region of memory: *clusters* of slots, and *entries* of one cache line with key and value. A key's cluster is found by its
// digest; a slot has a fingerprint of the key and says which entry has the rest. A full cluster links to an overflow
// cluster. A reader needs one one-sided read for the cluster and one for the entry. (DrTM+KV's cluster chaining; KRCore,
// section 4.2.)
//
// Remember: a cluster and an entry begin with a checksum over their other words and their place. A fabric shows the lines of
// one read at different times and may tear between any two words; bytes of which the checksum is right were there together.
//
// Pure functions and plain data; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::kernel {

/// A table has this for a key; meta_values.hpp says what is in it.
inline constexpr std::size_t meta_value_bytes = 48;
using MetaValue = std::array<std::byte, meta_value_bytes>;

/// How large a table's parts are: all that a reader must know of it beside its place.
struct MetaGeometry {
  static constexpr std::uint32_t part_max = 1U << 24;

  std::uint32_t main_clusters = 0;      ///< 1 … part_max
  std::uint32_t overflow_clusters = 0;  ///< 0 … part_max
  std::uint32_t entries = 0;            ///< most keys, 1 … part_max

  /// For `entries` keys (1 … part_max) that fill `load_percent` (10 … 100) of the main clusters' slots: the fuller, the less
  /// memory and the more reads. At 75 a key takes 81 bytes in a large table. Errors: bad_argument.
  [[nodiscard]] static Result<MetaGeometry> for_entries(std::uint64_t entries, unsigned load_percent = 75);
  /// A peer's word of its table of `region_bytes` bytes; nothing if a number is out of range or the parts do not fit.
  [[nodiscard]] static std::optional<MetaGeometry> from_peer(std::uint64_t main_clusters, std::uint64_t overflow_clusters,
                                                             std::uint64_t entries, std::uint64_t region_bytes);

  /// The table's size; its parts follow one another: main clusters, overflow clusters, entries.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// `cluster` counts the main ones, then the overflow ones.
  [[nodiscard]] std::uint64_t cluster_offset(std::uint32_t cluster) const noexcept;
  [[nodiscard]] std::uint64_t entry_offset(std::uint32_t entry) const noexcept;
  [[nodiscard]] std::uint32_t clusters() const noexcept { return main_clusters + overflow_clusters; }

  friend bool operator==(const MetaGeometry&, const MetaGeometry&) = default;
};

/// The main cluster where the search for a key begins, and what its slot is known by.
struct MetaPlace {
  std::uint32_t cluster = 0;
  std::uint32_t fingerprint = 0;
};
[[nodiscard]] MetaPlace place_of(std::uint64_t key, const MetaGeometry& geometry) noexcept;

/// One slot: an entry, and a fingerprint of its key.
struct MetaSlot {
  std::uint32_t entry = 0;  ///< 1 + index of the entry; 0: the slot is free
  std::uint32_t fingerprint = 0;
};

/// A cluster of slots; two cache lines. Words: a checksum, then the fields as they are here.
struct MetaCluster {
  static constexpr std::size_t words = 16;
  static constexpr std::size_t bytes = words * 8;
  static constexpr std::size_t slot_count = 13;
  static constexpr std::uint32_t nobody = 0xffff'ffff;  ///< the owner of an overflow cluster that is in no chain

  std::uint32_t next = 0;             ///< 1 + number of the overflow cluster that follows; 0: the chain ends
  std::uint32_t next_generation = 0;  ///< of that cluster, as it was linked
  std::uint32_t owner = nobody;       ///< the main cluster of its chain
  std::uint32_t generation = 0;       ///< how often an overflow cluster was taken out of a chain; of a main one 0
  std::array<MetaSlot, slot_count> slots{};
};
static_assert(MetaCluster::bytes == 2 * cache_line_bytes);
static_assert(MetaCluster::bytes == 8 + sizeof(MetaCluster) && std::has_unique_object_representations_v<MetaCluster>);

/// The longest chain, its main cluster included. A writer makes none longer and a reader follows none.
inline constexpr unsigned meta_chain_max = 6;

/// A key with its value; one cache line. Words: checksum; key; the value. An entry that was erased is *dead*.
struct MetaEntry {
  static constexpr std::size_t words = 8;
  static constexpr std::size_t bytes = words * 8;

  bool live = false;
  std::uint64_t key = 0;
  MetaValue value{};
};
static_assert(MetaEntry::bytes == cache_line_bytes);
static_assert(MetaEntry::bytes == 2 * 8 + meta_value_bytes);

using MetaClusterWords = std::array<std::uint64_t, MetaCluster::words>;
using MetaEntryWords = std::array<std::uint64_t, MetaEntry::words>;

/// The words of cluster or entry number `index`.
[[nodiscard]] MetaClusterWords encode(const MetaCluster& cluster, std::uint32_t index) noexcept;
[[nodiscard]] MetaEntryWords encode(const MetaEntry& entry, std::uint32_t index) noexcept;

/// Decodes what was read where cluster or entry `index` is, of exactly the right size (checked); nothing if it is torn, is
/// not of this place or was never written. The numbers in it are whatever the writer of the checksum put there.
[[nodiscard]] std::optional<MetaCluster> decode_cluster(std::span<const std::byte> bytes, std::uint32_t index) noexcept;
[[nodiscard]] std::optional<MetaEntry> decode_entry(std::span<const std::byte> bytes, std::uint32_t index) noexcept;

}  // namespace spindrift::kernel
