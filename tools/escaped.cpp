// UTF-8 as the Unicode standard has it (table 3-7): no overlong forms, no surrogates, nothing beyond U+10FFFF.
#include "escaped.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

unsigned char byte_at(std::string_view text, std::size_t index) { return static_cast<unsigned char>(text[index]); }

/// The bytes of a character that begins with this one; 0: none does.
std::size_t length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/// The bytes of the character at the beginning of a text that is not empty; 0: there is none.
std::size_t character_length(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const std::size_t length = length_of(first);
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    unsigned char least = 0x80;
    unsigned char most = 0xbf;
    if (i == 1 && first == 0xe0) least = 0xa0;
    if (i == 1 && first == 0xed) most = 0x9f;
    if (i == 1 && first == 0xf0) least = 0x90;
    if (i == 1 && first == 0xf4) most = 0x8f;
    if (byte_at(text, i) < least || byte_at(text, i) > most) return 0;
  }
  return length;
}

/// U+007F, U+0080 to U+009F, which terminals take for commands, too, and characters that begin a line or turn its direction:
/// U+2028 to U+202E, U+2066 to U+2069.
bool is_misleading(std::string_view character) {
  if (character == "\x7f") return true;
  if (character.size() == 2) return byte_at(character, 0) == 0xc2 && byte_at(character, 1) < 0xa0;
  if (character.size() != 3 || byte_at(character, 0) != 0xe2) return false;
  const unsigned char last = byte_at(character, 2);
  return byte_at(character, 1) == 0x80 ? last >= 0xa8 && last <= 0xae
                                       : byte_at(character, 1) == 0x81 && last >= 0xa6 && last <= 0xa9;
}

bool is_control(std::string_view character) { return byte_at(character, 0) < 0x20 || is_misleading(character); }

/// The number of a character of one, two or three bytes.
unsigned code_of(std::string_view character) {
  constexpr unsigned payload_bits = 6;
  unsigned code = byte_at(character, 0);
  if (character.size() > 1) code &= character.size() == 2 ? 0x1fU : 0x0fU;
  for (const char each : character.substr(1)) code = code << payload_bits | (static_cast<unsigned char>(each) & 0x3fU);
  return code;
}

std::string with_bytes_shown(std::string_view text, std::string_view backslash) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (character == "\\") {
      result += backslash;
    } else if (length != 0 && !is_control(character)) {
      result += character;
    } else {
      for (std::size_t i = 0; i < character.size(); ++i) result += fmt::format("\\x{:02x}", byte_at(character, i));
    }
  }
  return result;
}

}  // namespace

std::string escaped(std::string_view text) { return with_bytes_shown(text, "\\\\"); }

std::string harmless(std::string_view text) { return with_bytes_shown(text, "\\"); }

std::string harmless_json(std::string_view json) {
  std::string result;
  while (!json.empty()) {
    const std::string_view character = json.substr(0, std::max<std::size_t>(character_length(json), 1));
    json.remove_prefix(character.size());
    if (is_misleading(character)) result += fmt::format("\\u{:04x}", code_of(character));
    else result += character;
  }
  return result;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

}  // namespace spindrift::tools
