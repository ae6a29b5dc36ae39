// Quotes and escapes.
#include <spindrift/core/log_value.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace spindrift::log {
namespace {

bool escaped(unsigned char byte, Plain plain) {
  return byte < 0x20 || byte == 0x7f || (plain == Plain::ascii && byte > 0x7f);
}

bool needs_quotes(std::string_view text, Plain plain) {
  return text.empty() || std::any_of(text.begin(), text.end(), [plain](char c) {
           return c == ' ' || c == '"' || c == '=' || c == '\\' || escaped(static_cast<unsigned char>(c), plain);
         });
}

void append_byte(std::string& line, char c, Plain plain) {
  switch (c) {
    case '"': line += "\\\""; break;
    case '\\': line += "\\\\"; break;
    case '\n': line += "\\n"; break;
    case '\r': line += "\\r"; break;
    case '\t': line += "\\t"; break;
    default:
      if (escaped(static_cast<unsigned char>(c), plain)) {
        line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      } else {
        line += c;
      }
  }
}

}  // namespace

void append_value(std::string& line, std::string_view text, Plain plain) {
  if (!needs_quotes(text, plain)) {
    line += text;
    return;
  }
  line += '"';
  for (const char c : text) append_byte(line, c, plain);
  line += '"';
}

}  // namespace spindrift::log
