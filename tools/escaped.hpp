// Bytes as text for a terminal: one line, without commands for the terminal, and readable back.
#pragma once

#include <string>
#include <string_view>

namespace spindrift::tools {

/// UTF-8 stays as it is, but for control characters, those that begin a line or turn its direction, and the backslash: `\\`
/// is a backslash, `\x1b` that byte. So are bytes that are no UTF-8. No two texts come out the same.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same, but a backslash stays as it is: for messages, which nobody reads back. What a user named may be in them.
[[nodiscard]] std::string harmless(std::string_view text);
/// JSON that says the same, where `\u0085` stands for a character for which escaped text has bytes.
[[nodiscard]] std::string harmless_json(std::string_view json);

[[nodiscard]] bool is_utf8(std::string_view bytes);

}  // namespace spindrift::tools
