// A group at rest: how soon it is there, and what it costs while nothing happens. Its members are processes started from
// nothing, so that loading the program counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct ResidentRun {
  /// Words of a command that runs one member, as `run_resident_member` does, when "CONFIG NODE SECTION/KEY=VALUE…" is
  /// appended.
  std::vector<std::string> command;
  GroupShape shape;
};

/// Seconds from just before the first process is started until the last member is in the view. Errors: resource; member_lost
/// if a member ended before.
[[nodiscard]] double run_start(const ResidentRun& run);

struct IdleResult {
  double cores = 0;                               ///< used by all members together; 1 is one whole core
  std::vector<std::uint64_t> resident_bytes;      ///< per member, shared pages counted in full
  std::vector<std::uint64_t> proportional_bytes;  ///< per member, shared pages divided among those who share them
};

/// Measures a group that was left alone for `duration`, once it is in its view. Errors as above.
[[nodiscard]] IdleResult run_idle(const ResidentRun& run, Duration duration);

/// The body of one member process: joins, writes the instant of being in the view to standard output (nanoseconds_now() and
/// a line end), waits until its standard input ends, leaves. Throws Exception.
void run_resident_member(const std::string& config_path, NodeId node, std::vector<ConfigOverride> settings);

}  // namespace spindrift::bench
