// Measures how long deliveries stand still while nodes are added to a loaded group one at a time, and removed one at a time
// until others are left than began; and finds out whether a message was lost, doubled or put out of order on the way.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/bench/group_network.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/profile.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

inline constexpr std::uint32_t roster_nodes_max = 24;

struct RosterRun {
  std::uint32_t members = 3;  ///< nodes 0 … members − 1 found the group; as many are left in the end, those of highest id
  std::uint32_t most = 9;     ///< members before the first one is removed; at most `roster_nodes_max`
  std::uint64_t message_bytes = 1024;                 ///< at least `stamped_bytes_min`
  Profile profile;                                    ///< that holds them
  Duration between = std::chrono::milliseconds(100);  ///< two changes: the load runs without any for so long at least
  std::vector<ConfigOverride> settings;               ///< for all members, over what the bench sets
};

/// In milliseconds, of all changes of one kind.
struct RosterChangeTimes {
  /// Longest time between two deliveries from the wish for another roster until all members of the view that comes of it
  /// have delivered there; one for each change and member that is there throughout.
  std::vector<double> gaps_ms;
  std::vector<double> quiet_gaps_ms;  ///< the same of a stretch as long, at the same members, after the change
  std::vector<double> view_gaps_ms;   ///< last delivery before a view to the first in it: for each view and such member
  std::vector<double> changes_ms;     ///< how long each change took, start of the added node's process included
};

struct RosterResult {
  RosterChangeTimes added, removed;
  std::uint64_t sent = 0;       ///< messages of all members
  std::uint64_t delivered = 0;  ///< messages at all members
  std::uint64_t views = 0;      ///< in which at least two members' sequences were compared
};

/// Each process is given its configuration once, when it starts, and learns of all others from the group. Errors: bad_input:
/// members broke what virtual synchrony promises, and how; resource; whatever a member met; member_lost if a process
/// crashed; timed_out if a view does not come.
[[nodiscard]] RosterResult run_roster_changes(const RosterRun& run);

}  // namespace spindrift::bench
