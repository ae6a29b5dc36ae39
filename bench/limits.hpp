// The limits of the machine: the figures that the multicast is measured against. A limit does the least that any system must
// do, and nothing else: no views, no variable records, no sleeping, no failures.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// Nanoseconds for a cache line there and back between two processes on two CPUs.
/// Errors: unsupported with one CPU; resource.
[[nodiscard]] double cache_line_round_trip_ns();

/// Nanoseconds for a futex wake-up there and back between two processes on two CPUs. Errors as above.
[[nodiscard]] double futex_round_trip_ns();

/// Nanoseconds of each of so many wake-ups there and back, with a rest before each that lets both CPUs sleep: what a message
/// from sleep cannot do without. Errors as above.
[[nodiscard]] std::vector<std::uint64_t> futex_latencies_ns(std::uint64_t exchanges, Duration rest);

/// Messages per second from one writer to one reader through a shared ring of 1 MiB, each payload of `message_bytes` copied
/// in once and read once. Errors as above.
[[nodiscard]] double ring_messages_per_second(std::uint64_t message_bytes, Duration duration);

/// A totally ordered, uniform multicast reduced to its rows and rings: one process per member, rows and rings mapped by
/// everybody, slots of one size.
struct BareMulticast {
  std::uint32_t members = 2;
  std::uint32_t senders = 2;  ///< the first of the members, at least one
  std::uint64_t message_bytes = 1024;
  std::uint64_t window = 100;          ///< most messages of one sender in flight
  bool touch = true;                   ///< payload written by the sender and one byte of each line read at delivery
  std::uint64_t messages = 1'000'000;  ///< of all senders together; rounded up to a multiple of the senders
  bool sending_apart = false;          ///< each sender has a second thread that sends, as an application's would
};

/// Seconds that the slowest member needs from the common start to its last delivery. Errors: resource.
[[nodiscard]] double bare_multicast_seconds(const BareMulticast& run);

/// Nanoseconds from send to the sender's own delivery, of every message, in order sent; one sender, window 1, payload
/// written and read. Errors: resource.
[[nodiscard]] std::vector<std::uint64_t> bare_multicast_latencies_ns(std::uint32_t members, std::uint64_t message_bytes,
                                                                     std::uint64_t messages);

}  // namespace spindrift::bench
