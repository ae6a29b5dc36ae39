// What it costs on this host, as it is now, that one thread wakes another that sleeps.
#pragma once

#include <spindrift/core/clock.hpp>

namespace spindrift {

/// Median over some wake-ups, there and back between the calling thread and one of its own; under a millisecond, where CPUs
/// are free. Any thread; takes as long as it measures.
[[nodiscard]] Duration measured_wake_up(const Clock& clock);

}  // namespace spindrift
