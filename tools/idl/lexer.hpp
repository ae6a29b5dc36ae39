// Words, numbers, texts and signs of IDL, each with its place. Comments are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace spindrift::idl {

enum class TokenKind : std::uint8_t { word, number, text, character, sign, directive, end };
struct IdlToken {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< of a text or a character: what it says; of a directive: its line
  SourcePlace place;
};

/// Throws bad_input: a text or comment without an end, or a byte that begins nothing.
[[nodiscard]] std::vector<IdlToken> tokens_of(std::string_view source, const std::string& file);

}  // namespace spindrift::idl
