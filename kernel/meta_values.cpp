// The two forms of a meta table's value, byte for byte.
#include <spindrift/kernel/meta_values.hpp>

#include <algorithm>
#include <array>
#include <cstddef>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/digest.hpp>

namespace spindrift::kernel {
namespace {

// A digest's input is longer for a region than for a node, so that none is mistaken for the other.
template <std::size_t Count>
std::uint64_t digest_word(const std::array<std::uint64_t, Count>& words) noexcept {
  return digest_of(std::as_bytes(std::span(words))).words[0];
}

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
  const Metadata padded = Metadata::of(metadata.said());
  return field_bytes(record.incarnation, padded.size, padded.bytes);
}

MetaValue encode(const MemoryRecord& record) noexcept {
  CHECK(is_sound(record));
  const std::uint32_t access = record.access == fabric::Access::write ? 1 : 0;
  return field_bytes(record.key, record.base, record.bytes, record.generation, record.node.value(), access,
                     std::uint64_t{0});
}

std::optional<NodeRecord> decode_node_record(const MetaValue& value) noexcept {
  ByteReader reader(value);
  NodeRecord record{.incarnation = reader.get<std::uint64_t>(), .metadata = {.size = reader.get<std::uint8_t>()}};
  Metadata& metadata = record.metadata;
  metadata.bytes = reader.get<decltype(metadata.bytes)>();
  if (record.incarnation == 0 || metadata.size > Metadata::bytes_max) return std::nullopt;
  if (std::any_of(metadata.bytes.begin() + metadata.size, metadata.bytes.end(),
                  [](std::byte b) { return b != std::byte{0}; }))
    return std::nullopt;
  return record;
}

std::optional<MemoryRecord> decode_memory_record(const MetaValue& value) noexcept {
  ByteReader reader(value);
  MemoryRecord record;
  for (std::uint64_t* const field : {&record.key, &record.base, &record.bytes, &record.generation})
    *field = reader.get<std::uint64_t>();
  record.node = NodeId(reader.get<std::uint32_t>());
  const auto access = reader.get<std::uint32_t>();
  if (access > 1 || reader.get<std::uint64_t>() != 0 || !is_sound(record)) return std::nullopt;
  record.access = access == 1 ? fabric::Access::write : fabric::Access::read;
  return record;
}

}  // namespace spindrift::kernel
