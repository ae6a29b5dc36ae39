// When each sample of a recording is due in a replay that keeps the flight's own pace.
#pragma once

#include <vector>

#include <spindrift/core/clock.hpp>

#include "ulog.hpp"

namespace spindrift::tools {

/// Due times by sample, counted from the first. A recording holds stray timestamps: topics latched long before, zeros, even
/// minutes ahead. A sample whose timestamp is more than a second off the median of its neighbors in the file is due at
/// that median instead, so that a stray one neither stalls the replay nor hurries it.
[[nodiscard]] std::vector<Duration> due_times(const ulog::Recording& recording);

}  // namespace spindrift::tools
