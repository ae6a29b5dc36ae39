// Bytes as text for a terminal: one line, without commands for the terminal, and readable back.
#pragma once

#include <string>
#include <string_view>

namespace spindrift::tools {

/// UTF-8 stays as it is, but for control characters and the backslash: `\\` is a backslash, `\x1b` that byte. So are bytes
/// that are no UTF-8. No two texts come out the same.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same, but a backslash stays as it is: for messages, which nobody reads back. What a user named may be in them.
[[nodiscard]] std::string harmless(std::string_view text);

}  // namespace spindrift::tools
