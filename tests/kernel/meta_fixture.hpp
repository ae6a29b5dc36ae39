// A meta table in this process's memory, values that can be told apart, and whole lookups, for tests of both its sides.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/kernel/meta_reader.hpp>
#include <spindrift/kernel/meta_table.hpp>

namespace spindrift::kernel {

/// Bytes at a cache line's begin, zeroed.
class AlignedMemory {
 public:
  explicit AlignedMemory(std::uint64_t bytes) : lines_((bytes + sizeof(Line) - 1) / sizeof(Line)), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> span() noexcept { return {reinterpret_cast<std::byte*>(lines_.data()), bytes_}; }

 private:
  struct alignas(cache_line_bytes) Line {
    std::array<std::byte, cache_line_bytes> bytes{};
  };
  std::vector<Line> lines_;
  std::uint64_t bytes_;
};

/// All of its words differ between any two numbers.
inline MetaValue value_of(std::uint64_t number) {
  std::array<std::uint64_t, meta_value_bytes / 8> words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = number * 8 + i;
  MetaValue value;
  std::memcpy(value.data(), words.data(), value.size());
  return value;
}

/// `count` keys that all have their place in main cluster `cluster`.
inline std::vector<std::uint64_t> keys_of_cluster(const MetaGeometry& geometry, std::uint32_t cluster, std::size_t count) {
  std::vector<std::uint64_t> keys;
  for (std::uint64_t key = 1; keys.size() < count; ++key)
    if (place_of(key, geometry).cluster == cluster) keys.push_back(key);
  return keys;
}

/// One lookup with every read answered by `read`.
inline MetaStep look_up(MetaReader& reader, const std::function<std::vector<std::byte>(const MetaStep&)>& read,
                        std::optional<std::uint32_t> hint = std::nullopt) {
  MetaStep step = reader.start(hint);
  while (step.kind == MetaStep::Kind::read) step = reader.on_read(read(step));
  return step;
}

struct MetaFixture {
  explicit MetaFixture(const MetaGeometry& size)
      : geometry(size), memory(size.bytes()), table(MetaTable::format(memory.span(), size).value()) {}

  [[nodiscard]] std::vector<std::byte> bytes_of(const MetaStep& read) {
    const auto bytes = memory.span().subspan(read.offset, read.bytes);
    return {bytes.begin(), bytes.end()};
  }
  /// A lookup while nothing changes.
  [[nodiscard]] MetaStep look_up(MetaReader& reader, std::optional<std::uint32_t> hint = std::nullopt) {
    return kernel::look_up(
        reader, [&](const MetaStep& read) { return bytes_of(read); }, hint);
  }
  [[nodiscard]] MetaStep look_up(std::uint64_t key) {
    MetaReader reader(geometry, key);
    return look_up(reader);
  }

  MetaGeometry geometry;
  AlignedMemory memory;
  MetaTable table;
};

}  // namespace spindrift::kernel
