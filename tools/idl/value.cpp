// Constant expressions of IDL, by the precedence that it shares with C++, and their values as C++.
#include "value.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace spindrift::idl {
namespace {

constexpr WideInteger most = std::numeric_limits<std::uint64_t>::max();

/// From what binds least.
constexpr std::array<std::string_view, 6> levels[] = {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, const NamedValue& named, ExpressionPlace where)
      : tokens_(tokens), named_(named), closes_(where == ExpressionPlace::brackets) {}

  ConstantValue binary(std::size_t level) {
    if (level == std::size(levels)) return unary();
    ConstantValue left = binary(level + 1);
    for (;;) {
      const IdlToken sign = tokens_.peek();
      if (sign.kind != TokenKind::sign || !is_of(level, sign.text) || (closes_ && sign.text == ">>")) return left;
      tokens_.take();
      const ConstantValue right = binary(level + 1);
      left = applied(sign, left, right);
    }
  }

 private:
  static bool is_of(std::size_t level, const std::string& sign) {
    for (const std::string_view each : levels[level]) {
      if (!each.empty() && each == sign) return true;
    }
    return false;
  }

  ConstantValue unary() {
    const IdlToken token = tokens_.peek();
    if (++depth_ > depth_max) refuse(token.place, "the expression has too many levels", "name parts of it as constants");
    ConstantValue value = operand(token);
    --depth_;
    return value;
  }
  ConstantValue operand(const IdlToken& token) {
    if (tokens_.take_if("-")) return negated(token, unary());
    if (tokens_.take_if("+")) return unary();
    if (tokens_.take_if("~")) {
      ConstantValue value = integer(token, unary());
      value.integer = ~value.integer;
      return value;
    }
    if (tokens_.take_if("(")) {
      const bool closes = std::exchange(closes_, false);
      ConstantValue value = binary(0);
      closes_ = closes;
      tokens_.expect(")");
      return value;
    }
    return literal();
  }
  static ConstantValue negated(const IdlToken& token, ConstantValue value) {
    if (value.form == ValueForm::real)
      value.real = -value.real;
    else
      value.integer = -integer(token, value).integer;
    return value;
  }
  static ConstantValue integer(const IdlToken& at, const ConstantValue& value) {
    if (value.form == ValueForm::integer) return value;
    refuse(at.place, "this takes whole numbers", "write some");
  }

  ConstantValue literal() {
    const IdlToken token = tokens_.take();
    if (token.kind == TokenKind::number) return number(token);
    if (token.kind == TokenKind::character) {
      if (token.text.size() != 1) refuse(token.place, "a character is one byte", "write one, or a text in double quotes");
      return {.form = ValueForm::character, .integer = static_cast<unsigned char>(token.text[0])};
    }
    if (token.kind == TokenKind::text) {
      ConstantValue value{.form = ValueForm::text, .text = token.text};
      while (tokens_.peek().kind == TokenKind::text) value.text += tokens_.take().text;
      return value;
    }
    if (token.text == "TRUE" || token.text == "FALSE") return {.form = ValueForm::boolean, .integer = token.text == "TRUE"};
    std::string name;
    if (token.text == "::")
      name = "::" + tokens_.word("a name");
    else if (token.kind == TokenKind::word)
      name = token.text;
    else
      refuse(token.place, "a value is expected", "write a number, a text, TRUE, FALSE or the name of a constant");
    while (tokens_.take_if("::")) name += "::" + tokens_.word("a name");
    return named_(name, token.place);
  }

  static ConstantValue number(const IdlToken& token) {
    const std::string& text = token.text;
    const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (!hexadecimal && text.find_first_of(".eE") != std::string::npos) {
      ConstantValue value{.form = ValueForm::real};
      const auto end = std::from_chars(text.data(), text.data() + text.size(), value.real);
      if (end.ec != std::errc() || end.ptr != text.data() + text.size()) refuse(token.place, "this is no number", "mend it");
      return value;
    }
    const bool octal = !hexadecimal && text.size() > 1 && text[0] == '0';
    std::uint64_t value = 0;
    const char* const begin = text.data() + (hexadecimal ? 2 : 0);
    const auto end = std::from_chars(begin, text.data() + text.size(), value, hexadecimal ? 16 : octal ? 8 : 10);
    if (end.ec != std::errc() || end.ptr != text.data() + text.size())
      refuse(token.place, "this is no whole number of 64 bits", "mend it");
    return {.integer = value};
  }

  static ConstantValue applied(const IdlToken& sign, const ConstantValue& left, const ConstantValue& right) {
    if (left.form == ValueForm::real || right.form == ValueForm::real) return applied_reals(sign, left, right);
    const WideInteger a = integer(sign, left).integer;
    const WideInteger b = integer(sign, right).integer;
    const char op = sign.text[0];
    if ((op == '/' || op == '%') && b == 0) refuse(sign.place, "this divides by 0", "divide by something else");
    if ((op == '<' || op == '>') && (b < 0 || b > 63)) refuse(sign.place, "a shift is by 0 to 63", "shift by less");
    WideInteger made = 0;
    bool beyond = false;
    switch (op) {
      case '|': made = a | b; break;
      case '^': made = a ^ b; break;
      case '&': made = a & b; break;
      case '<': beyond = __builtin_mul_overflow(a, WideInteger{1} << static_cast<int>(b), &made); break;
      case '>': made = a >> static_cast<int>(b); break;
      case '+': made = a + b; break;
      case '-': made = a - b; break;
      case '*': beyond = __builtin_mul_overflow(a, b, &made); break;
      case '/': made = a / b; break;
      default: made = a % b; break;
    }
    if (beyond || made > most || made < -most) refuse(sign.place, "the value is beyond 64 bits", "write a smaller one");
    return {.integer = made};
  }
  static ConstantValue applied_reals(const IdlToken& sign, const ConstantValue& left, const ConstantValue& right) {
    const auto real = [&](const ConstantValue& of) {
      return of.form == ValueForm::real ? of.real : static_cast<double>(integer(sign, of).integer);
    };
    const double a = real(left), b = real(right);
    ConstantValue made{.form = ValueForm::real};
    switch (sign.text[0]) {
      case '+': made.real = a + b; break;
      case '-': made.real = a - b; break;
      case '*': made.real = a * b; break;
      case '/': made.real = a / b; break;
      default: refuse(sign.place, "this takes whole numbers", "write some");
    }
    if (!std::isfinite(made.real)) refuse(sign.place, "the value is no number", "mend it");
    return made;
  }

  TokenStream& tokens_;
  const NamedValue& named_;
  bool closes_;  // >> is no shift here
  std::size_t depth_ = 0;
};

struct IntegerRange {
  std::string_view type;
  WideInteger least;
  WideInteger most;
};
constexpr IntegerRange ranges[] = {{"std::int8_t", INT8_MIN, INT8_MAX},    {"std::int16_t", INT16_MIN, INT16_MAX},
                                   {"std::int32_t", INT32_MIN, INT32_MAX}, {"std::int64_t", INT64_MIN, INT64_MAX},
                                   {"std::uint8_t", 0, UINT8_MAX},         {"std::uint16_t", 0, UINT16_MAX},
                                   {"std::uint32_t", 0, UINT32_MAX},       {"std::uint64_t", 0, most}};

std::string integer_literal(WideInteger value) {
  if (value == INT64_MIN) return "-9223372036854775807 - 1";
  if (value > INT64_MAX) return fmt::format("{}U", static_cast<std::uint64_t>(value));
  return fmt::format("{}", static_cast<std::int64_t>(value));
}

std::string text_literal(const std::string& text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      literal += std::string("\\") + c;
    else if (byte < 0x20 || byte >= 0x7f)
      literal += fmt::format("\\{:03o}", byte);
    else
      literal += c;
  }
  return literal + "\"";
}

}  // namespace

bool TokenStream::take_if(std::string_view text) {
  const IdlToken& token = peek();
  if ((token.kind != TokenKind::sign && token.kind != TokenKind::word) || token.text != text) return false;
  take();
  return true;
}

void TokenStream::expect(std::string_view text) {
  if (take_if(text)) return;
  // Two brackets that close together are one sign.
  if (text == ">" && peek().text == ">>") {
    tokens_[at_].text = ">";
    return;
  }
  const bool ends = peek().kind == TokenKind::end;
  const std::string there = ends ? "the file ends" : "\"" + peek().text.substr(0, 60) + "\" is there";
  refuse(peek().place, fmt::format("{} is expected, and {}", text, there), fmt::format("write {} before it", text));
}

std::string TokenStream::word(const std::string& what) {
  if (peek().kind == TokenKind::word) return take().text;
  refuse(peek().place, what + " is expected", "write one, of a-z, A-Z, 0-9 and _");
}

ConstantValue expression(TokenStream& tokens, const NamedValue& named, ExpressionPlace where) {
  return ExpressionParser(tokens, named, where).binary(0);
}

std::string cpp_literal(const ConstantValue& value, const IdlType& type, const SourcePlace& place) {
  const bool whole = value.form == ValueForm::integer;
  const auto wrong = [&]() { refuse(place, "the value is none of " + cpp_type(type), "write one of that type"); };
  if (type.form == TypeForm::text && value.form == ValueForm::text) {
    if (value.text.find('\0') != std::string::npos) refuse(place, "a text has a zero within it", "leave it out");
    return text_literal(value.text);
  }
  const bool names_one = type.form == TypeForm::named && value.form == ValueForm::enumerator;
  if (names_one && value.text.starts_with("::" + type.name + "::")) return value.text;
  if (type.form != TypeForm::plain) wrong();
  if (type.name == "bool") {
    if (value.form != ValueForm::boolean && !(whole && (value.integer == 0 || value.integer == 1))) wrong();
    return value.integer == 0 ? "false" : "true";
  }
  if (type.name == "char") {
    if (value.form != ValueForm::character) wrong();
    return fmt::format("'\\x{:02x}'", static_cast<unsigned>(value.integer));
  }
  if (type.name == "float" || type.name == "double") {
    if (!whole && value.form != ValueForm::real) wrong();
    const double real = whole ? static_cast<double>(value.integer) : value.real;
    if (type.name == "float" && std::abs(real) > std::numeric_limits<float>::max()) wrong();
    return fmt::format("{:#}{}", real, type.name == "float" ? "F" : "");
  }
  for (const IntegerRange& each : ranges) {
    if (type.name != each.type) continue;
    if (!whole || value.integer < each.least || value.integer > each.most) wrong();
    return integer_literal(value.integer);
  }
  wrong();
  return {};
}

}  // namespace spindrift::idl
