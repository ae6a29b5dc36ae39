// The place to which the lines of this process's log go.
#pragma once

#include <chrono>
#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift::log {

/// From now on lines are appended to `file`, which is made, but no directory; empty: standard error. The levels stay. If the
/// file is renamed or removed, it is made anew. Threads: any. Errors: resource.
[[nodiscard]] Result<void> set_file(const std::string& file);
/// Whether all lines that were logged before have been written within `limit`; who logs awaits that himself, unless the file
/// or its reader stands still. A process that exits awaits it for half a second. Threads: any.
[[nodiscard]] bool await_written(std::chrono::milliseconds limit);

}  // namespace spindrift::log
