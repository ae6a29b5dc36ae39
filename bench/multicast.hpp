// One measurement of the multicast: a group of real processes over shared memory, from the common start to the last
// delivery.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct MulticastRun {
  GroupShape shape;
  std::uint64_t message_bytes = 1024;
  bool touch = true;                 ///< payload copied in by the sender and one byte of each line read at delivery
  std::uint64_t messages = 100'000;  ///< of all senders together; rounded up to a multiple of the senders
  Duration rest{};                   ///< latencies: before each message, so that everybody sleeps
};

/// The result of one member.
struct MemberResult {
  double seconds = 0;           ///< from the common start to its last delivery
  std::uint64_t delivered = 0;  ///< messages
  std::uint64_t delivered_bytes = 0;
  std::uint64_t payload_sum = 0;  ///< over one byte of each line, each of which is 1; 0 if untouched
};

struct MulticastResult {
  std::uint64_t messages = 0;         ///< that every member delivered
  double messages_per_second = 0;     ///< `messages` by the slowest member's seconds
  std::vector<MemberResult> members;  ///< by rank
};

/// Errors: bad_config (a setting is wrong), resource, member_lost, would_block (the run hung; the message says how far each
/// member came).
[[nodiscard]] MulticastResult run_multicast(const MulticastRun& run);

/// Seconds of the slowest member. Errors as above.
[[nodiscard]] double multicast_seconds(const MulticastRun& run);

/// Nanoseconds from before `send` to the sender's own delivery upcall, of every message, in order sent: the first member
/// sends the next message when the one before was delivered to it. Payload written and read. Errors as above.
[[nodiscard]] std::vector<std::uint64_t> run_multicast_latencies_ns(const MulticastRun& run);

}  // namespace spindrift::bench
