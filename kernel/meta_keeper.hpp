// The meta table that a process keeps: itself in every one, and the other nodes that it is linked with in those of the few
// that keep them for all (meta_servers.hpp says who). KRCore's meta server, kept up by links instead of a broadcast at boot
// (section 4.2): a node that links says how it is reached, and is out of the table with its link.
//
// Remember: an entry names one start of a node. That of a later start takes its place, and the end of an earlier one's link
// does not take it away.
//
// Threading: one thread. Lifetime: the memory outlives it, and is read by peers until their rights to it have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/kernel/meta_layout.hpp>
#include <spindrift/kernel/meta_table.hpp>
#include <spindrift/kernel/meta_values.hpp>

namespace spindrift::kernel {

/// The place of a table in its keeper's memory, and its shape, as its keeper tells them to one peer. Words: key, address,
/// bytes, main clusters with overflow clusters above them, entries.
struct MetaTableName {
  static constexpr std::size_t wire_bytes = 40;

  std::uint64_t key = 0;      ///< a right to read it, of that peer alone
  std::uint64_t address = 0;  ///< of its first byte, as operations want it
  MetaGeometry geometry{};
  friend bool operator==(const MetaTableName&, const MetaTableName&) = default;
};
using MetaTableNameBytes = std::array<std::byte, MetaTableName::wire_bytes>;
[[nodiscard]] MetaTableNameBytes encode(const MetaTableName& name) noexcept;
/// `bytes` is at least as long (checked); nothing if no table can be like that.
[[nodiscard]] std::optional<MetaTableName> decode_table_name(std::span<const std::byte> bytes) noexcept;

class MetaKeeper {
 public:
  /// The geometry that `format` needs for a table of itself and so many others. Errors: bad_argument.
  [[nodiscard]] static Result<MetaGeometry> geometry_for(std::size_t others);

  /// Formats `memory`, which nobody may read before, and enters `self`. `keeps`: the others that it is to have, at most as
  /// many as the geometry is for. Errors: as MetaTable::format and `put`.
  [[nodiscard]] static Result<MetaKeeper> open(std::span<std::byte> memory, const MetaGeometry& geometry, NodeId self,
                                               const NodeRecord& own, std::set<NodeId> keeps);

  /// The node itself has said how this start of it is reached. Nothing happens if it is not to be in this table. Errors: as
  /// MetaTable::put, of a table that is unlucky with its keys; the node is to be found elsewhere then.
  [[nodiscard]] Result<void> on_linked(NodeId node, const NodeRecord& record);
  /// A link with that start of it has ended.
  void on_lost(NodeId node, std::uint64_t incarnation);

  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  [[nodiscard]] const MetaGeometry& geometry() const noexcept { return table_.geometry(); }
  /// Nodes in the table, itself among them.
  [[nodiscard]] std::uint32_t size() const noexcept { return table_.size(); }

 private:
  MetaKeeper(std::span<std::byte> memory, MetaTable table, std::set<NodeId> keeps)
      : memory_(memory), table_(std::move(table)), keeps_(std::move(keeps)) {}

  std::span<std::byte> memory_;
  MetaTable table_;
  std::set<NodeId> keeps_;
};

}  // namespace spindrift::kernel
