// The costs of things in the modeled setting: one link, and the software of one member. Every number says where it comes
// from.
//
//   stated    in the paper's prose (Spindle, 2021), with its section
//   derived   from numbers in its prose, by the calculation given
//   fitted    chosen so that one stated result comes out; which one is said
//   measured  with this code; docs/bench.md says how
//   assumed   none of these: common knowledge of such hardware, and a place to doubt
#pragma once

#include <cstdint>

namespace spindrift::bench::model {

/// Nanoseconds of virtual time.
using Ticks = double;

/// One full-duplex port per member, all on one switch that is never the bottleneck.
struct Link {
  double bytes_per_ns = 12.5;  ///< stated, section 4: 100 Gb/s. Equals GB/s
  Ticks latency_ns = 1730;     ///< stated, section 3.2 and figure 1: a write of 1 byte, from post to visibility
  /// Beyond the wire's own time, for each byte up to the MTU, because a packet is stored at both ends before it goes on.
  /// Derived from figure 1's other stated value, 2.46 us for 4 KB: (2460 - 1730) / 4096 - 1 / 12.5.
  double store_ns_per_byte = (2460.0 - 1730.0) / 4096.0 - 1.0 / 12.5;
  double mtu_bytes = 4096;          ///< assumed
  double packet_header_bytes = 42;  ///< assumed: route, transport, address and checksums of one InfiniBand packet
  Ticks operation_ns = 7;           ///< assumed: the card takes 150 M operations per second
  double turn_bytes = 16384;        ///< assumed: then the card goes on with the next connection that has something to send

  /// The time for which the port is busy with a list of `operations` to one peer.
  [[nodiscard]] Ticks occupancy_ns(double bytes, std::uint32_t operations) const noexcept;
  /// From the moment at which a byte of them leaves the port until it is visible, if nobody else's come in there.
  [[nodiscard]] Ticks flight_ns(double bytes) const noexcept;
};

/// When application threads can reach the ring.
enum class Lock : std::uint8_t {
  none,               ///< always: reserving and committing takes no lock
  released_to_post,   ///< not while predicates compute; Spindle's section 3.4
  held_while_posting  ///< not while predicates compute or post
};

/// The poller and the application threads of one member.
struct Software {
  Ticks evaluate_ns = 0;        ///< per subgroup that is looked at
  Ticks row_ns = 0;             ///< per row read there
  Ticks fresh_line_ns = 0;      ///< per line of words that changed since the last look: a cache miss
  Ticks contention_ns = 0;      ///< per look with something to do: taking locks that application threads want
  Ticks receive_ns = 0;         ///< per message received
  Ticks collect_ns = 0;         ///< per own message published
  Ticks deliver_ns = 0;         ///< per message delivered
  Ticks upcall_ns = 0;          ///< per batch handed over
  Ticks post_ns = 0;            ///< per list of writes to one peer: the first of them and the doorbell
  Ticks post_more_ns = 0;       ///< per further write of the list
  Ticks produce_ns = 0;         ///< per message, application thread: reserve, build in place, commit
  double copy_ns_per_byte = 0;  ///< where the application copies
  /// Messages that get in per look through the moments at which the lock changes hands: the mean of an exponential
  /// distribution, for who waits for a lock that its holder takes again at once gets it by chance.
  double handoffs = 0;
  // An application thread's life goes in phases, of which each is slow or not by chance.
  double slow_share = 0;  ///< how many of them are
  double slow_times = 1;  ///< everything takes it as many times as long then
  Ticks phase_ns = 0;     ///< the mean of an exponential distribution
};

/// Derecho's implementation, before and with Spindle: one cost list, for Spindle changed what is done, not what a step
/// costs.
[[nodiscard]] Software derecho_software() noexcept;
/// This implementation.
[[nodiscard]] Software spindrift_software() noexcept;

}  // namespace spindrift::bench::model
