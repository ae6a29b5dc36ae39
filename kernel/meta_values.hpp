// The values of a meta table say how to reach a node (KRCore's DCT metadata), and which memory a node has registered
// (its ValidMR). One form for each, checked when it is read. (KRCore, sections 4.2 and 4.4.)
//
// Pure functions; any thread. The bytes to decode come from a peer: decoding gives nothing for those that no correct node
// writes.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/kernel/meta_layout.hpp>
#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

/// How to reach one start of a node.
struct NodeRecord {
  std::uint64_t incarnation = 0;  ///< of the start, by the node's own numbering; not 0
  Metadata metadata;
  friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};

/// A region of memory that a node has registered for its peers.
struct MemoryRecord {
  NodeId node;                   ///< whose memory it is
  std::uint64_t key = 0;         ///< MemoryKeys::remote_key
  std::uint64_t base = 0;        ///< MemoryKeys::remote_base
  std::uint64_t bytes = 0;       ///< at least 1; base + bytes does not wrap
  std::uint64_t generation = 0;  ///< not 0; another for each region, also for one with the key of an earlier one
  fabric::Access access = fabric::Access::read;  ///< the one kind that peers may do
  friend bool operator==(const MemoryRecord&, const MemoryRecord&) = default;
};

/// The keys under which both are found. Nodes and regions may share a table: that two keys are equal is as likely as that
/// two random 64-bit numbers are, and for regions it is seen, for a record says whose it is.
[[nodiscard]] std::uint64_t meta_key_of(NodeId node) noexcept;
[[nodiscard]] std::uint64_t meta_key_of(NodeId node, std::uint64_t remote_key) noexcept;

/// `record` is as its fields say (checked).
[[nodiscard]] MetaValue encode(const NodeRecord& record) noexcept;
[[nodiscard]] MetaValue encode(const MemoryRecord& record) noexcept;

[[nodiscard]] std::optional<NodeRecord> decode_node_record(const MetaValue& value) noexcept;
[[nodiscard]] std::optional<MemoryRecord> decode_memory_record(const MetaValue& value) noexcept;

}  // namespace spindrift::kernel
