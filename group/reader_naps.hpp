// A reader of a busy feed sleeps for a moment by itself, and then reads all that has come meanwhile: so it costs the member
// no call to wake it, and itself few of its own. One of a quiet feed asks to be woken, and sleeps until then.
//
// The invariant to remember: nobody naps twice without having found much in between.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <spindrift/core/clock.hpp>

namespace spindrift::group {

class ReaderNaps {
 public:
  static constexpr Duration shortest = std::chrono::microseconds(500);
  static constexpr Duration longest = std::chrono::milliseconds(8);
  /// The same while the member leaves everything out.
  static constexpr Duration longest_unfed = std::chrono::milliseconds(64);
  /// So many messages since the last rest are much: more than come between two times that a member wakes.
  static constexpr std::uint64_t much = 4;

  /// Read, or left out by the member.
  void on_messages(std::uint64_t count) noexcept { found_ += count; }
  /// All that was there has been read: so long the reader sleeps; 0: until it is woken. `laps`: the part of the feed that it
  /// has read since the last time; one that sleeps too long for that is overtaken.
  [[nodiscard]] Duration next(double laps) noexcept {
    const Duration longer = laps < 0.125 ? 2 * nap_ : nap_ / 2;
    nap_ = found_ < much ? Duration(0) : std::clamp(longer, shortest, laps > 0 ? longest : longest_unfed);
    found_ = 0;
    return nap_;
  }

 private:
  std::uint64_t found_ = 0;  // messages since the last rest
  Duration nap_{};           // the last one
};

}  // namespace spindrift::group
