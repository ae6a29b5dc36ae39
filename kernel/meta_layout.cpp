// Offsets, checksums and the two encodings of a meta table.
#include <spindrift/kernel/meta_layout.hpp>

#include <cstring>

#include <fmt/format.h>

#include <spindrift/core/check.hpp>
#include <spindrift/core/digest.hpp>
#include <spindrift/core/untrusted.hpp>

namespace spindrift::kernel {
namespace {

/// A checksum stands for this too, beside the words: so that an entry is no cluster, and none is another of its kind.
enum class Salt : std::uint64_t { cluster = 1, live_entry = 2, dead_entry = 3 };

template <std::size_t Count>
std::uint64_t checksum(std::array<std::uint64_t, Count> words, Salt salt, std::uint32_t index) noexcept {
  words[0] = static_cast<std::uint64_t>(salt) << 32 | index;  // the checksum's own place in the digest
  return digest_of(std::as_bytes(std::span(words))).words[0];
}

template <std::size_t Count>
std::array<std::uint64_t, Count> words_of(std::span<const std::byte> bytes) noexcept {
  CHECK(bytes.size() == Count * 8);
  std::array<std::uint64_t, Count> words;
  std::memcpy(words.data(), bytes.data(), Count * 8);
  return words;
}

}  // namespace

Result<MetaGeometry> MetaGeometry::for_entries(std::uint64_t entries, unsigned load_percent) {
  if (entries == 0 || entries > part_max)
    return Error(ErrorKind::bad_argument, fmt::format("a meta table of {} entries", entries))
        .fix(fmt::format("ask for 1 to {}", part_max));
  if (load_percent < 10 || load_percent > 100)
    return Error(ErrorKind::bad_argument, fmt::format("a meta table filled to {} %", load_percent)).fix("ask for 10 to 100");
  const std::uint64_t slots = (entries * 100 + load_percent - 1) / load_percent;
  const std::uint64_t main_clusters = (slots + MetaCluster::slot_count - 1) / MetaCluster::slot_count;
  // Keys fall into clusters as in a Poisson distribution: at a load of 75 % one cluster in eight has more than its slots, at
  // 100 % two in five. The rest is for the luck of small tables.
  const std::uint64_t overflow_clusters = main_clusters / (load_percent <= 75 ? 4 : 2) + 4;
  return MetaGeometry{static_cast<std::uint32_t>(main_clusters), static_cast<std::uint32_t>(overflow_clusters),
                      static_cast<std::uint32_t>(entries)};
}

std::optional<MetaGeometry> MetaGeometry::from_peer(std::uint64_t main_clusters, std::uint64_t overflow_clusters,
                                                    std::uint64_t entries, std::uint64_t region_bytes) {
  const auto main = Untrusted(main_clusters).within(1, part_max);
  const auto overflow = Untrusted(overflow_clusters).within(0, part_max);
  const auto keys = Untrusted(entries).within(1, part_max);
  if (!main || !overflow || !keys) return std::nullopt;
  const MetaGeometry geometry{static_cast<std::uint32_t>(*main), static_cast<std::uint32_t>(*overflow),
                              static_cast<std::uint32_t>(*keys)};
  if (geometry.bytes() > region_bytes) return std::nullopt;
  return geometry;
}

std::uint64_t MetaGeometry::bytes() const noexcept {
  return std::uint64_t{clusters()} * MetaCluster::bytes + std::uint64_t{entries} * MetaEntry::bytes;
}

std::uint64_t MetaGeometry::cluster_offset(std::uint32_t cluster) const noexcept {
  CHECK(cluster < clusters());
  return std::uint64_t{cluster} * MetaCluster::bytes;
}

std::uint64_t MetaGeometry::entry_offset(std::uint32_t entry) const noexcept {
  CHECK(entry < entries);
  return std::uint64_t{clusters()} * MetaCluster::bytes + std::uint64_t{entry} * MetaEntry::bytes;
}

MetaPlace place_of(std::uint64_t key, const MetaGeometry& geometry) noexcept {
  const Digest digest = digest_of(std::as_bytes(std::span(&key, 1)));
  const std::uint64_t cluster = (digest.words[0] >> 32) * geometry.main_clusters >> 32;
  return {static_cast<std::uint32_t>(cluster), static_cast<std::uint32_t>(digest.words[1])};
}

MetaClusterWords encode(const MetaCluster& cluster, std::uint32_t index) noexcept {
  MetaClusterWords words{};
  std::memcpy(&words[1], &cluster, sizeof cluster);
  words[0] = checksum(words, Salt::cluster, index);
  return words;
}

std::optional<MetaCluster> decode_cluster(std::span<const std::byte> bytes, std::uint32_t index) noexcept {
  const auto words = words_of<MetaCluster::words>(bytes);
  if (words[0] != checksum(words, Salt::cluster, index)) return std::nullopt;
  MetaCluster cluster;
  std::memcpy(static_cast<void*>(&cluster), &words[1], sizeof cluster);
  return cluster;
}

MetaEntryWords encode(const MetaEntry& entry, std::uint32_t index) noexcept {
  MetaEntryWords words{};
  words[1] = entry.key;
  std::memcpy(&words[2], entry.value.data(), meta_value_bytes);
  words[0] = checksum(words, entry.live ? Salt::live_entry : Salt::dead_entry, index);
  return words;
}

std::optional<MetaEntry> decode_entry(std::span<const std::byte> bytes, std::uint32_t index) noexcept {
  const auto words = words_of<MetaEntry::words>(bytes);
  MetaEntry entry;
  entry.live = words[0] == checksum(words, Salt::live_entry, index);
  if (!entry.live && words[0] != checksum(words, Salt::dead_entry, index)) return std::nullopt;
  entry.key = words[1];
  std::memcpy(entry.value.data(), &words[2], meta_value_bytes);
  return entry;
}

}  // namespace spindrift::kernel
