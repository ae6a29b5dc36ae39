// Every state in which a crash may leave a disk, for a trace of what was done to it: after each of its steps, and in the
// middle of each write that makes itself durable; the middle of any other step leaves nothing that its end does not. While
// little is not durable, all states come; else a sample that always has the telling ones.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "disk_contents.hpp"
#include "simulated_disk.hpp"

namespace spindrift::sim {

struct CrashLimits {
  /// The most states of blocks and sizes, for one step and one state of the names, that all come. Of more there come: none
  /// of the writes, all, all but each, each alone, the first so many, the last so many, each file without its size, and
  /// `samples` drawn ones.
  std::uint64_t exhaustive_max = 4096;
  std::uint64_t samples = 64;
  /// So many of the last writes are torn, each in `torn_shapes` ways: with all other writes there, and with those before.
  std::uint64_t torn_writes = 2;
  /// Operations on names are there in any combination, not only up to one. Of more than 10 there come: the first so many,
  /// all but each, each alone, and `samples` drawn ones.
  bool reordered = false;
  std::uint64_t seed = 1;
};

/// A block in which the first sector is new, the first half, all but the last, the last half, every other one; and one whose
/// last half is garbage.
inline constexpr std::uint64_t torn_shapes = 6;

/// The crash that a state is behind.
struct CrashPoint {
  std::size_t steps_done = 0;  ///< so many steps are acknowledged; the next one may be under way
  const CrashOutcome& outcome;
};

/// For people: one line.
[[nodiscard]] std::string to_string(const CrashPoint& point);

/// Called with a disk that holds a state, for each in turn; it may do with the disk what it likes.
using CrashStateFunction = std::function<void(SimulatedDisk& disk, const CrashPoint& point)>;

/// The states that came; those that are alike count each.
struct CrashStateCounts {
  std::uint64_t states = 0;
  std::uint64_t torn_states = 0;       ///< of them
  std::uint64_t sampled_outcomes = 0;  ///< how often there were too many states for all
};

/// On a disk that held `before` and nothing else.
CrashStateCounts for_each_crash_state(const DiskContents& before, std::span<const DiskStep> trace, const CrashLimits& limits,
                                      const CrashStateFunction& function);
/// On a disk that was empty.
CrashStateCounts for_each_crash_state(std::span<const DiskStep> trace, const CrashLimits& limits,
                                      const CrashStateFunction& function);

}  // namespace spindrift::sim
