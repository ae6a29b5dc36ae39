// Nodes enter a process's own meta table and leave it, and peers are told of the table.
#include <spindrift/kernel/meta_keeper.hpp>

#include <utility>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>

namespace spindrift::kernel {

MetaTableNameBytes encode(const MetaTableName& name) noexcept {
  const MetaGeometry& geometry = name.geometry;
  return field_bytes(name.key, name.address, geometry.bytes(), geometry.main_clusters, geometry.overflow_clusters,
                     std::uint64_t{geometry.entries});
}

std::optional<MetaTableName> decode_table_name(std::span<const std::byte> bytes) noexcept {
  CHECK(bytes.size() >= MetaTableName::wire_bytes);
  ByteReader reader(bytes);
  MetaTableName name{.key = reader.get<std::uint64_t>(), .address = reader.get<std::uint64_t>()};
  const auto region_bytes = reader.get<std::uint64_t>();
  const auto main_clusters = reader.get<std::uint32_t>();
  const auto overflow_clusters = reader.get<std::uint32_t>();
  if (name.address + region_bytes < name.address) return std::nullopt;
  const auto geometry = MetaGeometry::from_peer(main_clusters, overflow_clusters, reader.get<std::uint64_t>(), region_bytes);
  if (!geometry) return std::nullopt;
  name.geometry = *geometry;
  return name;
}

Result<MetaGeometry> MetaKeeper::geometry_for(std::size_t others) { return MetaGeometry::for_entries(others + 1); }

Result<MetaKeeper> MetaKeeper::open(std::span<std::byte> memory, const MetaGeometry& geometry, NodeId self,
                                    const NodeRecord& own, std::set<NodeId> keeps) {
  SPINDRIFT_TRY_ASSIGN(MetaTable table, MetaTable::format(memory, geometry));
  SPINDRIFT_TRY(table.put(meta_key_of(self), encode(own)));
  keeps.erase(self);
  return MetaKeeper(memory, std::move(table), std::move(keeps));
}

Result<void> MetaKeeper::on_linked(NodeId node, const NodeRecord& record) {
  if (!keeps_.contains(node)) return {};
  return table_.put(meta_key_of(node), encode(record));
}

void MetaKeeper::on_lost(NodeId node, std::uint64_t incarnation) {
  if (!keeps_.contains(node)) return;
  const auto present = table_.find(meta_key_of(node));
  const auto record = present ? decode_node_record(*present) : std::nullopt;
  if (record && record->incarnation == incarnation) table_.erase(meta_key_of(node));
}

}  // namespace spindrift::kernel
