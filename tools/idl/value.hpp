// Values of constant expressions.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lexer.hpp"

namespace spindrift::idl {

__extension__ using WideInteger = __int128;

enum class ValueForm : std::uint8_t { integer, real, text, character, boolean, enumerator };
struct ConstantValue {
  ValueForm form = ValueForm::integer;
  WideInteger integer = 0;  ///< of a character its byte, of an enumerator its number
  double real = 0;
  std::string text{};  ///< of an enumerator: as C++ has it
};

/// The tokens of a file, taken one by one.
class TokenStream {
 public:
  explicit TokenStream(std::vector<IdlToken> tokens) : tokens_(std::move(tokens)) {}
  [[nodiscard]] const IdlToken& peek(std::size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  IdlToken take() {
    IdlToken token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  /// Takes it if it is a word or a sign that says so.
  bool take_if(std::string_view text);
  /// Throws bad_input: something else is there.
  void expect(std::string_view text);
  /// A name. Throws bad_input.
  std::string word(const std::string& what);

 private:
  std::vector<IdlToken> tokens_;
  std::size_t at_ = 0;
};

/// The value of a constant's or an enumerator's name. Throws bad_input: there is none.
using NamedValue = std::function<ConstantValue(const std::string& name, const SourcePlace& place)>;

/// Within < and > a shift is in parentheses: >> closes two of them.
enum class ExpressionPlace : std::uint8_t { anywhere, brackets };
/// Throws bad_input: it is none, of types that do not go together, or beyond 64 bits.
[[nodiscard]] ConstantValue expression(TokenStream& tokens, const NamedValue& named,
                                       ExpressionPlace where = ExpressionPlace::anywhere);
/// A literal of C++ for a field or constant of that plain type, or text. Throws bad_input: out of its range.
[[nodiscard]] std::string cpp_literal(const ConstantValue& value, const IdlType& type, const SourcePlace& place);

}  // namespace spindrift::idl
