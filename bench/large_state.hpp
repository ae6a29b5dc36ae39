// A large replicated object in a logged subgroup: how long others' messages wait while its members make a checkpoint of it,
// and while a newcomer is given it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct LargeStateRun {
  std::string directory;      ///< on the disk of the journals; what is made in it is removed again
  std::uint32_t members = 3;  ///< with the newcomer, at least two
  std::uint64_t state_bytes = std::uint64_t{1} << 30;
  Duration quiet = std::chrono::seconds(3);  ///< watched with the object as large, and nothing else to do
  std::vector<ConfigOverride> settings;
};

/// The parts of a run, in their order.
enum class StatePhase : std::uint8_t { quiet, checkpoint, newcomer };
inline constexpr std::size_t state_phases = 3;

/// One phase: each millisecond the first member sends a message to a subgroup in memory, and calls the object.
struct StateTimes {
  std::vector<std::uint64_t> messages_ns{};  ///< from before `send` until it is delivered; of each member that was there
  std::vector<std::uint64_t> calls_ns{};     ///< from before the call until it is applied at the caller
  double seconds = 0;                        ///< that the phase took
};

/// The newcomer's own deliveries do not count: it is given what was sent before it came. Throws Exception: bad_config,
/// resource, member_lost; would_block (a checkpoint, or the newcomer, takes minutes).
[[nodiscard]] std::array<StateTimes, state_phases> large_state_times(const LargeStateRun& run);

}  // namespace spindrift::bench
