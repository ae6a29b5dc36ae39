// How long the parts of a pass take, for experiments: by a clock that is given, and not at all without one.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>

namespace spindrift::smc {

/// Says what time it is; null: no time is taken. No Clock, which compilers that know of one alone would call directly: the
/// objects of the protocol name no clock of the machine.
using LapClock = Time (*)();

/// Begins when it is made. Belongs to one thread.
class Lap {
 public:
  explicit Lap(LapClock clock) : clock_(clock), last_(clock == nullptr ? Time() : clock()) {}

  /// What went by since the last call, or the beginning, is added to that counter, in nanoseconds.
  void end(Counter& counter) {
    if (clock_ == nullptr) return;
    const Time now = clock_();
    counter.add(static_cast<std::uint64_t>((now - last_).count()));
    last_ = now;
  }

 private:
  LapClock clock_;
  Time last_;
};

}  // namespace spindrift::smc
