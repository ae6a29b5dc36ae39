// Measures how long a batch of reads to several peers takes, by how many queue pairs the pool has, beside a connected queue
// pair for each read (KRCore, figure 14a).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct ReadBatchRun {
  std::string provider;           ///< as of Reach
  std::uint32_t queue_pairs = 1;  ///< connectionless ones of the pool; 0: every read has a connected one of its own
  std::uint32_t targets = 10;     ///< devices, 1 … 64, all polled by one process
  std::uint32_t reads = 64;       ///< of a batch, 1 … 1024, each over a pair of its own to one of the targets
  std::uint32_t batches = 100;
  std::uint64_t seed = 1;  ///< which target each has
};

/// Returns the time of each batch, from before the first post to the last completion, in nanoseconds. One batch more goes
/// before, which is not measured. Call while this process has one thread. Errors: resource, timed_out, member_lost,
/// would_block (it took minutes), and those of the device and the pool.
[[nodiscard]] std::vector<std::uint64_t> measure_read_batches(const ReadBatchRun& run);

}  // namespace spindrift::bench
