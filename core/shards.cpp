// Hashing keys.
#include <spindrift/core/shards.hpp>

#include <array>

#include <spindrift/core/check.hpp>

namespace spindrift {
namespace {

std::uint64_t hash_of(std::span<const std::byte> key) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : key) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

// The paper's function, whose double is exact enough on every machine that has IEEE 754.
std::uint32_t jump(std::uint64_t hash, std::uint32_t count) noexcept {
  std::int64_t shard = -1;
  for (std::int64_t next = 0; next < static_cast<std::int64_t>(count);) {
    shard = next;
    hash = hash * 2862933555777941757U + 1;
    next = static_cast<std::int64_t>(static_cast<double>(shard + 1) *
                                     (static_cast<double>(std::int64_t{1} << 31) / static_cast<double>((hash >> 33) + 1)));
  }
  return static_cast<std::uint32_t>(shard);
}

}  // namespace

std::uint32_t shard_of(std::span<const std::byte> key, std::uint32_t count) {
  CHECK(count >= 1);
  return jump(hash_of(key), count);
}

std::uint32_t shard_of(std::string_view key, std::uint32_t count) { return shard_of(std::as_bytes(std::span(key)), count); }

std::uint32_t shard_of(std::uint64_t key, std::uint32_t count) {
  std::array<std::byte, 8> bytes{};
  for (unsigned i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(key >> (8 * i));
  return shard_of(bytes, count);
}

std::string shard_name(std::string_view subgroup, std::uint32_t shard) {
  return std::string(subgroup) + (shard == 0 ? "" : "/" + std::to_string(shard));
}

}  // namespace spindrift
