// When each sample of a recording is due in a replay that keeps the flight's own pace.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/core/clock.hpp>

#include "ulog.hpp"

namespace spindrift::tools {

/// Has the flight flown so often, one round behind the other at its own pace.
void repeat(ulog::Recording& recording, std::uint32_t rounds);

/// Due times by sample, counted from the first, in a flight of `speed` times its own pace. A recording holds stray
/// timestamps: topics latched long before, zeros, even minutes ahead. A sample whose timestamp is more than a second off the
/// median of its neighbors in the file is due at that median instead, so that a stray one neither stalls the replay nor
/// hurries it.
[[nodiscard]] std::vector<Duration> due_times(const ulog::Recording& recording, double speed = 1);

}  // namespace spindrift::tools
