// Workers that all connect to each other at once (KRCore, figure 8b): by virtual queue pairs, to peers that are looked up
// and to peers that are known, and by connected queue pairs. Each worker is a process with a device of its own.
#pragma once

#include <cstdint>
#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

inline constexpr std::uint32_t mesh_workers_max = 64;

struct MeshRun {
  std::string provider;       ///< as of Reach
  std::uint32_t workers = 2;  ///< 2 … mesh_workers_max
};

/// In nanoseconds, from the moment at which all are ready until the last of them has one to each other.
struct MeshTimes {
  std::uint64_t looked_up = 0;  ///< virtual queue pairs, every peer asked for at one meta server
  std::uint64_t known = 0;      ///< virtual queue pairs, every peer's metadata there
  std::uint64_t written = 0;    ///< the same, until 8 bytes were written over each: on TCP a connection lies beneath
  std::uint64_t connected = 0;  ///< connected queue pairs, one for each two workers, that both may post to
};

/// Every pair is checked: that it is there, or that what was written over it has arrived. Call while this process has one
/// thread. Errors: resource, timed_out, member_lost, would_block (it took minutes), and those of the device.
[[nodiscard]] MeshTimes measure_mesh(const MeshRun& run);

}  // namespace spindrift::bench
