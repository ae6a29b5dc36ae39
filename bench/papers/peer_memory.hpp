// The memory that a process keeps for each peer that it knows, or is connected to (KRCore, figure 15a): measured in a
// process made for it, while who is reached, with what it keeps, lives in another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// The state in which a process has each peer.
enum class Holding : std::uint8_t {
  room,                ///< a device that could take it in
  metadata,            ///< what the cache of metadata keeps, and nothing else
  known,               ///< looked up at a meta server, remembered by the directory, and taken in by the device
  pair,                ///< known, with a virtual queue pair connected to it that takes no messages
  pair_with_messages,  ///< the same, of one that takes them
  written,             ///< as `pair`, and 8 bytes were written over it; to peers that are there, memory_written_max at most
  connection,          ///< a connected queue pair
};
[[nodiscard]] const char* to_string(Holding holding) noexcept;

/// In bytes: of the allocator's blocks that are in use, and of the process's own pages that are present.
struct MemoryUse {
  std::uint64_t allocated = 0;
  std::uint64_t resident = 0;
};
/// The memory of this process now.
[[nodiscard]] MemoryUse memory_in_use();

inline constexpr std::uint32_t memory_peers_max = 20000;
inline constexpr std::uint32_t memory_written_max = 1000;
struct PeerMemoryRun {
  Holding holding = Holding::metadata;
  std::string provider;     ///< as of Reach
  std::uint32_t peers = 1;  ///< 1 … memory_peers_max
  std::uint32_t room = 1;   ///< in the device of those who look up, at least `peers`, at most memory_peers_max
};
/// The memory that a process has for its peers, and for what it needs to have any: device, pool and directory. Call while
/// this process has one thread. Errors: resource (descriptors, memory), timed_out, member_lost, would_block (it took
/// minutes), and those of the device.
[[nodiscard]] MemoryUse memory_of_peers(const PeerMemoryRun& run);

/// The bytes that each peer beyond the first takes, where `one` is the memory of one peer and `all` that of `peers`, at
/// least 2. Negative if `all` is less.
[[nodiscard]] double bytes_per_further_peer(std::uint64_t one, std::uint64_t all, std::uint32_t peers);

}  // namespace spindrift::bench
