// What enters a process's own meta table and what leaves it, and how a peer is told of the table.
#include <spindrift/kernel/meta_keeper.hpp>

#include <bit>
#include <cstring>
#include <utility>

#include <spindrift/core/check.hpp>

namespace spindrift::kernel {
namespace {

using NameWords = std::array<std::uint64_t, MetaTableName::wire_bytes / 8>;

}  // namespace

MetaTableNameBytes encode(const MetaTableName& name) noexcept {
  const MetaGeometry& geometry = name.geometry;
  const std::uint64_t clusters = std::uint64_t{geometry.overflow_clusters} << 32 | geometry.main_clusters;
  return std::bit_cast<MetaTableNameBytes>(NameWords{name.key, name.address, geometry.bytes(), clusters, geometry.entries});
}

std::optional<MetaTableName> decode_table_name(std::span<const std::byte> bytes) noexcept {
  CHECK(bytes.size() >= MetaTableName::wire_bytes);
  NameWords words;
  std::memcpy(words.data(), bytes.data(), sizeof words);
  const auto [key, address, region_bytes, clusters, entries] = words;
  if (address + region_bytes < address) return std::nullopt;
  const auto geometry = MetaGeometry::from_peer(clusters & UINT32_MAX, clusters >> 32, entries, region_bytes);
  if (!geometry) return std::nullopt;
  return MetaTableName{key, address, *geometry};
}

Result<MetaGeometry> MetaKeeper::geometry_for(std::size_t others) { return MetaGeometry::for_entries(others + 1); }

Result<MetaKeeper> MetaKeeper::open(std::span<std::byte> memory, const MetaGeometry& geometry, NodeId self,
                                    const NodeRecord& own, std::set<NodeId> keeps) {
  auto table = MetaTable::format(memory, geometry);
  if (!table) return std::move(table).error();
  if (auto put = table->put(meta_key_of(self), encode(own)); !put) return std::move(put).error();
  keeps.erase(self);
  return MetaKeeper(memory, std::move(table).value(), std::move(keeps));
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
