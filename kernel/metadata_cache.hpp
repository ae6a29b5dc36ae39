// How to reach the nodes that were asked for lately, without asking a meta server: KRCore's DCCache (section 4.2). What a
// node says of itself holds for its whole life, so an entry goes only when the node is lost or the space is needed.
//
// Threading: one thread. Memory: 64 bytes per entry, and 8 to 16 of index; all taken when it is made.
#pragma once

#include <cstddef>

#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/lru_table.hpp>
#include <spindrift/kernel/meta_values.hpp>

namespace spindrift::kernel {

/// Node ids are chosen by people, often in steps: Fibonacci hashing spreads them.
struct NodeHash {
  [[nodiscard]] std::size_t operator()(NodeId node) const noexcept {
    return static_cast<std::size_t>(node.value() * 0x9e37'79b9'7f4a'7c15ULL >> 32);
  }
};

using MetadataCache = LruTable<NodeId, NodeRecord, NodeHash>;
static_assert(sizeof(MetadataCache::Entry) == 64);

}  // namespace spindrift::kernel
