// UTF-8 as the Unicode standard has it (table 3-7): no overlong forms, no surrogates, nothing beyond U+10FFFF.
#include "escaped.hpp"

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

/// U+0000 to U+001F, U+007F, and U+0080 to U+009F, which terminals take for commands, too.
bool is_control(std::string_view character) {
  const unsigned char first = byte_at(character, 0);
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  return first == 0xc2 && byte_at(character, 1) < 0xa0;
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

}  // namespace spindrift::tools
