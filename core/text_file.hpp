// Reads a text file that people name, without waiting for what is none.
#pragma once

#include <cstddef>
#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift {

/// All of a regular file. A pipe, a device, or more than `bytes_max` is refused at once: so nobody waits for a writer that
/// never comes, and nothing fills the memory. Errors: `kind`, at the path, with a fix. From any thread.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path, std::size_t bytes_max, ErrorKind kind);

}  // namespace spindrift
