// The shard of a subgroup that a key belongs to, and the names of shards. The same on every machine and in every version, so
// that what is kept by shard may outlive the program that put it there.
//
// A key's hash is FNV-1a of 64 bits over its bytes (http://www.isthe.com/chongo/tech/comp/fnv), mixed by the last step of
// MurmurHash3; the shard of a hash is that of jump consistent hashing (Lamping and Veach, "A Fast, Minimal Memory,
// Consistent Hash Algorithm", 2014): with one shard more, only keys that go to the new one change their shard. The hash
// spreads keys; it is no protection against somebody who wants all keys in one shard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace spindrift {

/// The shard, counted from 0, of a key of any bytes. `count`: how many shards there are, at least 1. Any thread.
[[nodiscard]] std::uint32_t shard_of(std::span<const std::byte> key, std::uint32_t count);
/// The same for text: of its bytes.
[[nodiscard]] std::uint32_t shard_of(std::string_view key, std::uint32_t count);
/// The same for a number: of its 8 bytes, the lowest first, on every machine.
[[nodiscard]] std::uint32_t shard_of(std::uint64_t key, std::uint32_t count);

/// The name of the subgroup that is that shard: the first has the subgroup's own, the others "/1", "/2" and so on behind it.
[[nodiscard]] std::string shard_name(std::string_view subgroup, std::uint32_t shard);

}  // namespace spindrift
