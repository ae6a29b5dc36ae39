// A value of a line of key=value pairs: quoted where it needs it, so that no text breaks its line or imitates a field.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spindrift::log {

/// Which bytes stand for themselves: all that control no terminal of one byte, or printable ASCII alone.
enum class Plain : std::uint8_t { bytes, ascii };

/// Appends it behind what the line holds.
void append_value(std::string& line, std::string_view text, Plain plain = Plain::bytes);

}  // namespace spindrift::log
