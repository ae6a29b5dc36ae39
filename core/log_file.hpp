// The place to which the lines of this process's log go.
#pragma once

#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift::log {

/// From now on lines are appended to `file`, which is made, but no directory; empty: standard error. The levels stay.
/// Threads: any. Errors: resource.
[[nodiscard]] Result<void> set_file(const std::string& file);

}  // namespace spindrift::log
