// Standard output that may fail: a full disk, a descriptor that was closed, a reader that went away. A command whose output
// is lost ends with an error; one whose reader has had enough ends quietly.
#pragma once

#include <string_view>

#include <spindrift/core/result.hpp>

namespace spindrift::tools {

/// That standard output did not take everything, by the errno of the write; 0: it is not known any more.
[[nodiscard]] Error output_error(int error_number);
/// Whether it is the error of a reader that went away, as `| head` does: it has what it wanted.
[[nodiscard]] bool is_reader_gone(const Error& error);
/// Writes what was printed so far. Errors: resource, also for what could not be written before.
[[nodiscard]] Result<void> flush_output();
/// Writes the line at once. Errors: resource.
[[nodiscard]] Result<void> print_line(std::string_view line);

}  // namespace spindrift::tools
