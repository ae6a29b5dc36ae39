// The two forms of a meta table's value, byte for byte.
#include <spindrift/kernel/meta_values.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include <spindrift/core/check.hpp>
#include <spindrift/core/digest.hpp>

namespace spindrift::kernel {
namespace {

// A digest's input is longer for a region than for a node, so that none is mistaken for the other.
template <std::size_t Count>
std::uint64_t digest_word(const std::array<std::uint64_t, Count>& words) noexcept {
  return digest_of(std::as_bytes(std::span(words))).words[0];
}

// Of a node's record: a word, a size, the metadata.
constexpr std::ptrdiff_t size_at = 8;
constexpr std::ptrdiff_t metadata_at = size_at + 1;
static_assert(metadata_at + Metadata::bytes_max == meta_value_bytes);

using RecordWords = std::array<std::uint64_t, meta_value_bytes / 8>;  // key, base, bytes, generation, node and access, 0

bool is_sound(const MemoryRecord& record) noexcept {
  return record.bytes > 0 && record.base + record.bytes >= record.bytes && record.generation != 0;
}

}  // namespace

std::uint64_t meta_key_of(NodeId node) noexcept { return digest_word<1>({node.value()}); }
std::uint64_t meta_key_of(NodeId node, std::uint64_t remote_key) noexcept {
  return digest_word<2>({node.value(), remote_key});
}

MetaValue encode(const NodeRecord& record) noexcept {
  const Metadata& metadata = record.metadata;
  CHECK(record.incarnation != 0 && metadata.size <= Metadata::bytes_max);
  MetaValue value{};
  std::memcpy(value.data(), &record.incarnation, sizeof record.incarnation);
  value[size_at] = std::byte{metadata.size};
  std::copy_n(metadata.bytes.begin(), metadata.size, value.begin() + metadata_at);
  return value;
}

MetaValue encode(const MemoryRecord& record) noexcept {
  CHECK(is_sound(record));
  const std::uint64_t access = record.access == fabric::Access::write ? 1 : 0;
  return std::bit_cast<MetaValue>(
      RecordWords{record.key, record.base, record.bytes, record.generation, access << 32 | record.node.value(), 0});
}

std::optional<NodeRecord> decode_node_record(const MetaValue& value) noexcept {
  NodeRecord record;
  std::memcpy(&record.incarnation, value.data(), sizeof record.incarnation);
  const auto size = std::to_integer<std::uint8_t>(value[size_at]);
  if (record.incarnation == 0 || size > Metadata::bytes_max) return std::nullopt;
  const auto rest = value.begin() + metadata_at + size;
  if (std::any_of(rest, value.end(), [](std::byte byte) { return byte != std::byte{0}; })) return std::nullopt;
  record.metadata.size = size;
  std::copy(value.begin() + metadata_at, rest, record.metadata.bytes.begin());
  return record;
}

std::optional<MemoryRecord> decode_memory_record(const MetaValue& value) noexcept {
  const auto words = std::bit_cast<RecordWords>(value);
  const std::uint64_t access = words[4] >> 32;
  if (access > 1 || words[5] != 0) return std::nullopt;
  const MemoryRecord record{.node = NodeId(static_cast<std::uint32_t>(words[4])),
                            .key = words[0],
                            .base = words[1],
                            .bytes = words[2],
                            .generation = words[3],
                            .access = access == 1 ? fabric::Access::write : fabric::Access::read};
  if (!is_sound(record)) return std::nullopt;
  return record;
}

}  // namespace spindrift::kernel
