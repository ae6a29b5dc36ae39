// The cost of making messages durable: journals of processes that share a disk, without a group.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct JournalRun {
  std::string directory;  ///< on the disk in question; what is made in it is removed again
  std::uint32_t processes = 1;
  std::uint64_t message_bytes = 1024;
  std::uint64_t commits = 200;  ///< of each process
};

/// Nanoseconds from the append of one message until it is durable, one at a time, in each process's journal, all at once.
/// Errors: resource, disk_full, member_lost, would_block.
[[nodiscard]] std::vector<std::uint64_t> journal_latencies_ns(const JournalRun& run);

/// The rate at which messages become durable in all processes together, each of which appends as fast as its journal takes
/// them, and how many bytes a commit had in the middle.
struct JournalRate {
  double messages_per_second = 0;
  std::uint64_t batch_bytes = 0;  ///< of payloads, on average
};
[[nodiscard]] JournalRate journal_rate(const JournalRun& run, Duration duration);

}  // namespace spindrift::bench
