// One object through a group: how fast it is with everybody, and how much memory that takes, however large it is.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct ObjectRun {
  GroupShape shape;  ///< the first member sends
  std::uint64_t object_bytes = std::uint64_t{1} << 30;
};

struct ObjectResult {
  double seconds = 0;                     ///< from the sender's call to the last piece at the slowest member
  std::uint64_t pieces = 0;               ///< that every member was handed
  std::vector<std::uint64_t> peak_bytes;  ///< of memory, per member: its process's largest resident set, rings included
};

/// Every piece is written by the sender, and one byte of each line of it read by everybody. Errors: bad_config (a setting is
/// wrong), resource, member_lost, would_block (the run hung), bad_input (an object did not arrive whole).
[[nodiscard]] ObjectResult run_object(const ObjectRun& run);

}  // namespace spindrift::bench
