// The cost of making messages durable in a group: members with a logged subgroup, whose journals lie on one disk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/bench/commits.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct DurableRun {
  std::string directory;  ///< on the disk in question; what is made in it is removed again
  std::uint32_t members = 3;
  std::uint64_t message_bytes = 1024;
  std::vector<ConfigOverride> settings;
};

struct DurableLatencies {
  std::vector<std::uint64_t> times_ns;  ///< of all senders' messages
  Commits commits;                      ///< of all members' journals
};
/// From before `send` until `await_durable` returns at the sender: the message is on the disks of all members. The first
/// `senders` members send at once, each one message at a time, `messages` of them. Throws Exception: bad_config, resource,
/// member_lost, would_block.
[[nodiscard]] DurableLatencies durable_latencies_ns(const DurableRun& run, std::uint32_t senders, std::uint64_t messages);

/// The way in which all members send to the logged subgroup.
enum class Logging : std::uint8_t {
  none,           ///< nobody does
  one_at_a_time,  ///< each waits until its message is durable: the disk is never idle, and little else is done
  without_pause,  ///< as fast as `send` lets them
};

/// The work of a group whose rates are watched.
struct GroupLoad {
  Logging logging = Logging::without_pause;
  bool unlogged = false;  ///< all send to another subgroup as well, which is in memory alone; otherwise there is none
  std::uint64_t plain_bytes = 0;  ///< as many processes as members write and sync so many at a time beside it; 0: none do
  Duration warm_up = std::chrono::milliseconds(300);
  Duration watch = std::chrono::seconds(2);
};

struct LoadRates {
  double durable = 0;   ///< messages of all senders that became durable at all members, per second
  double unlogged = 0;  ///< that were delivered at the member that delivered the fewest, per second
  Commits commits;      ///< of all members' journals
};
/// In the end all that was sent is durable at all members, or the run fails. Throws likewise.
[[nodiscard]] LoadRates durable_load(const DurableRun& run, const GroupLoad& load);

}  // namespace spindrift::bench
