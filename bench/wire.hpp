// The limit of the way between hosts, with nothing on top: bytes between processes that all send to each other at once, over
// plain TCP connections, and over the fabric alone. What a group on such a fabric is measured against.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct WireRun {
  GroupShape shape;                              ///< members, the fabric and where they are; nothing else of it counts
  std::uint64_t bytes = std::uint64_t{1} << 16;  ///< of one write
  Duration duration{};
};

/// Bytes per second that arrive at all processes together: a TCP connection of the kernel's between each two, over loopback,
/// one thread per process. Errors: resource, member_lost, would_block.
[[nodiscard]] double tcp_bytes_per_second(const WireRun& run);

/// Bytes per second of one connection over loopback, one process that sends and one that takes, both blocking: what a day's
/// machine is known by, so that figures of another day can be compared. Errors: as above.
[[nodiscard]] double stream_bytes_per_second(const WireRun& run);

/// Nanoseconds of each of so many round trips of a message over one connection on loopback, between two processes that spin;
/// with a rest before each, both sleep in the kernel until something comes. Errors: as above.
[[nodiscard]] std::vector<std::uint64_t> tcp_latencies_ns(std::uint64_t exchanges, std::uint64_t message_bytes,
                                                          Duration rest);

/// Bytes per second that all processes together have written to each other's memory, a few writes to each peer under way:
/// the group's fabric, without the group. Errors: bad_config; unsupported (a fabric that maps memory writes nothing); as
/// above.
[[nodiscard]] double fabric_bytes_per_second(const WireRun& run);

}  // namespace spindrift::bench
