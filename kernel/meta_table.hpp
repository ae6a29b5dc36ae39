// The writer of a meta table: keeps keys and values in a region that any number of peers read one-sidedly meanwhile
// (meta_layout.hpp has the form, meta_reader.hpp the reading). Insert, update and erase are each seen by a reader as done or
// not done: a lookup that runs while the table changes gives what was true at some moment between its first read and its
// last.
//
// Remember: a key never moves while it is there. Only an overflow cluster without slots in use leaves a chain, and its
// generation, which the link to it repeats, changes then: so a reader on its way down a chain passes every key that stays.
//
// An entry is written before the slot that names it and an overflow cluster before the link to it; a slot is emptied before
// its entry is dead, and a cluster unlinked before its generation changes.
//
// Threading: one thread. Lifetime: the region outlives the table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/meta_layout.hpp>

namespace spindrift::kernel {

class MetaTable {
 public:
  /// An empty table in `region`, which nobody may read before: at least `geometry.bytes()`, aligned to cache lines.
  /// `geometry` is one from `for_entries`. Errors: bad_argument (too small, not aligned).
  [[nodiscard]] static Result<MetaTable> format(std::span<std::byte> region, const MetaGeometry& geometry);

  /// Inserts the key, or gives it another value. Nothing changes on an error. Errors: resource (as many keys as entries, no
  /// overflow cluster is left, or the chain would be too long); never for a key that is there.
  [[nodiscard]] Result<void> put(std::uint64_t key, const MetaValue& value);
  /// Whether it was there.
  bool erase(std::uint64_t key);
  [[nodiscard]] std::optional<MetaValue> find(std::uint64_t key) const;

  [[nodiscard]] std::uint32_t size() const noexcept {
    return geometry_.entries - static_cast<std::uint32_t>(free_entries_.size());
  }
  [[nodiscard]] const MetaGeometry& geometry() const noexcept { return geometry_; }
  /// Overflow clusters that are in a chain.
  [[nodiscard]] std::uint32_t overflow_clusters_used() const noexcept {
    return geometry_.overflow_clusters - static_cast<std::uint32_t>(free_clusters_.size());
  }

  /// One aligned 8-byte word that became visible.
  struct Store {
    std::uint64_t offset = 0;
    std::uint64_t value = 0;
  };
  /// The stores of the last `put` or `erase`, in their order: a copy of the region has to repeat them. Until the next one.
  [[nodiscard]] std::span<const Store> last_stores() const noexcept { return stores_; }

 private:
  /// The place of a key: `slot` of `cluster`, behind `before` in the chain if that is an overflow cluster.
  struct Location {
    std::uint32_t cluster = 0;
    std::uint32_t before = 0;
    std::uint32_t slot = 0;
    std::uint32_t entry = 0;
  };

  MetaTable(std::span<std::byte> region, const MetaGeometry& geometry);

  [[nodiscard]] std::optional<Location> locate(std::uint64_t key) const;
  [[nodiscard]] Result<void> insert(std::uint64_t key, const MetaValue& value);
  [[nodiscard]] MetaCluster cluster(std::uint32_t index) const;
  [[nodiscard]] MetaEntry entry(std::uint32_t index) const;

  // An operation plans its stores first and applies them last.
  void plan(std::uint32_t index, const MetaCluster& cluster);
  void plan(std::uint32_t index, const MetaEntry& entry);
  void plan_words(std::uint64_t offset, std::span<const std::uint64_t> words);
  void apply();

  std::span<std::byte> region_;
  MetaGeometry geometry_;
  std::vector<std::uint32_t> free_entries_;   ///< the next one to use is the last
  std::vector<std::uint32_t> free_clusters_;  ///< numbers of overflow clusters, likewise
  std::vector<Store> stores_;
};

}  // namespace spindrift::kernel
