// How to reach the nodes that were asked for lately, without asking a meta server: KRCore's DCCache (section 4.2). What a
// node says of itself holds for its whole life, so an entry goes only when the node is lost or the space is needed.
//
// Remember: the cache names handles of a device but owns none. A handle that comes back is the caller's to forget, once no
// operation to that peer is under way.
//
// Threading: one thread. Memory: 72 bytes per entry, and 8 to 16 of index; all taken when it is made.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/lru_table.hpp>
#include <spindrift/kernel/meta_values.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

class MetadataCache {
 public:
  struct Known {
    NodeRecord record;
    PeerHandle handle;  ///< what the device made of it, for a connectionless queue pair; 0: nothing
  };

  /// Room for `entries_max` nodes, 1 … 2^24.
  explicit MetadataCache(std::uint32_t entries_max) : table_(entries_max) {}

  /// What is known of a node; null: ask a meta server. Counted. Valid until the next call that is not `find`.
  [[nodiscard]] const Known* find(NodeId node);

  /// Keeps a lookup's answer; not that of one during which the node was lost, which may be of its last start. Returns the
  /// handle of the node that was used longest ago, if that had to go, or the one that this node had before, if it is
  /// another; 0: none.
  [[nodiscard]] PeerHandle put(NodeId node, const NodeRecord& record, PeerHandle handle);

  /// The node was lost: its next start has other metadata. Returns its handle; 0: none.
  [[nodiscard]] PeerHandle on_lost(NodeId node);

  [[nodiscard]] std::uint32_t size() const noexcept { return table_.size(); }
  [[nodiscard]] std::uint64_t hits() const noexcept { return hits_; }
  [[nodiscard]] std::uint64_t misses() const noexcept { return misses_; }

 private:
  struct Hash {
    [[nodiscard]] std::size_t operator()(NodeId node) const noexcept;
  };
  using Table = LruTable<NodeId, Known, Hash>;
  static_assert(sizeof(Table::Entry) == 72);

  Table table_;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace spindrift::kernel
