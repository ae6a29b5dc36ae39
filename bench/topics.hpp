// Typed topics under measurement: participants that are processes of their own, in a domain of the bench's own on this host,
// over shared memory; and the untyped multicast that carries them, with members, sizes and processes alike.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>

namespace spindrift::bench {

/// The bytes of the types that the bench has.
inline constexpr std::array<std::uint64_t, 3> sample_sizes{100, 1024, 10240};

/// As docs/dds.md has them.
enum class TopicQuality : std::uint8_t { unordered, atomic, stored, logged };
[[nodiscard]] const char* name_of(TopicQuality quality) noexcept;

/// The way of a sample from the writer to whoever counts it.
enum class SampleWay : std::uint8_t {
  in_place,  ///< made in the ring by write_in_place, taken by a reader
  copied,    ///< copied there by write, likewise
  unread,    ///< made in the ring; no participant has a reader, and the writer counts
  untyped,   ///< a message of the same size, copied into the ring by a Subgroup, counted by its handler
};
[[nodiscard]] const char* name_of(SampleWay way) noexcept;

/// The caller of listeners that hear of samples: a thread of the participant's own, or its poller.
enum class ListenerPlace : std::uint8_t { thread, poller };
[[nodiscard]] const char* name_of(ListenerPlace place) noexcept;

struct TopicRun {
  std::uint32_t readers = 1;    ///< participants beside that of the writer
  std::uint64_t bytes = 1024;   ///< of a sample: one of `sample_sizes`; all of them written, one of each line read
  TopicQuality quality = TopicQuality::atomic;
  SampleWay way = SampleWay::in_place;      ///< untyped: of quality atomic
  ListenerPlace listeners = ListenerPlace::thread;
  Duration watch = std::chrono::milliseconds(500);
  std::string directory = ".";  ///< on the disk for TopicQuality::logged; what is made there is removed again
};
/// At the reader that took the fewest while watched. Each reader sees that samples come in the order in which they were
/// written, and, but for the unordered quality, in the end all of them; one that does not fails the run. Throws Exception:
/// resource, bad_input, would_block, member_lost, and what a participant throws.
[[nodiscard]] double samples_per_second(const TopicRun& run);

/// Samples that go to another participant and come back, one at a time, on two atomic topics of which listeners hear: from
/// before the write until it is back. Throws likewise.
struct TripRun {
  std::uint64_t bytes = 1024;  ///< as TopicRun's
  std::uint64_t count = 1000;
  ListenerPlace listeners = ListenerPlace::thread;
};
[[nodiscard]] std::vector<std::uint64_t> topic_round_trips_ns(const TripRun& run);

}  // namespace spindrift::bench
