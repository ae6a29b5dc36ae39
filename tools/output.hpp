// Standard output that may fail: a full disk, a reader that went away, a descriptor that was closed. A command that says
// what nobody can read ends with an error.
#pragma once

#include <string_view>

#include <spindrift/core/result.hpp>

namespace spindrift::tools {

/// That standard output did not take everything, by the errno of the write; 0: it is not known any more.
[[nodiscard]] Error output_error(int error_number);
/// Writes what was printed so far. Errors: resource, also for what could not be written before.
[[nodiscard]] Result<void> flush_output();
/// Writes the line at once. Errors: resource.
[[nodiscard]] Result<void> print_line(std::string_view line);

}  // namespace spindrift::tools
