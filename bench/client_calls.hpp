// Calls of a client outside of a group to a replicated object, each process asleep while there is nothing to do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/bench/commits.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>

namespace spindrift::bench {

/// The ways in which a client asks, as `spindrift::Client` has them.
enum class ClientAsk : std::uint8_t {
  update,
  ordered_query,
  query_after,  ///< after the update that was answered before
  query,
};
inline constexpr std::size_t client_asks = 4;

struct ClientRun {
  std::uint32_t members = 3;
  std::uint64_t argument_bytes = 64;  ///< of an update; a query has none, and its result is a number
  std::string directory;              ///< on a disk, where members keep the log of the object's subgroup; empty: none
  std::uint64_t calls = 1000;         ///< of each ask, one at a time
  Duration duration{};                ///< of the updates that are made at once, as many as the client has under way
  std::vector<ConfigOverride> settings;
};

struct ClientTimes {
  /// By ask, in nanoseconds, from before a call until its future has the result.
  std::array<std::vector<std::uint64_t>, client_asks> latencies_ns;
  double updates_per_second = 0;
  Commits commits;  ///< of all members' journals
};

/// One client of a group on this host; members reach each other as by default, and nobody proves anything. Throws
/// Exception: bad_config, resource, member_lost, would_block.
[[nodiscard]] ClientTimes measure_client(const ClientRun& run);

}  // namespace spindrift::bench
