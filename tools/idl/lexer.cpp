// One pass over the characters.
#include "lexer.hpp"

#include <utility>

namespace spindrift::idl {
namespace {

bool begins_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, const std::string& file) : source_(source) { place_.file = file; }

  std::vector<IdlToken> all() {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // some editors put it before a text
    if (source_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
    std::vector<IdlToken> tokens;
    for (;;) {
      skip_blanks();
      tokens.push_back(next());
      if (tokens.back().kind == TokenKind::end) return tokens;
    }
  }

 private:
  [[nodiscard]] char at(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  [[nodiscard]] bool ended() const { return at_ >= source_.size(); }
  char take() {
    const char c = source_[at_++];
    if (c == '\n') {
      ++place_.line;
      place_.column = 1;
    } else {
      ++place_.column;
    }
    return c;
  }

  void skip_blanks() {
    while (!ended()) {
      const char c = at();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
        take();
      } else if (c == '/' && at(1) == '/') {
        while (!ended() && at() != '\n') take();
      } else if (c == '/' && at(1) == '*') {
        skip_comment();
      } else {
        return;
      }
    }
  }
  void skip_comment() {
    const SourcePlace begin = place_;
    take();
    take();
    while (!ended() && (at() != '*' || at(1) != '/')) take();
    if (ended()) refuse(begin, "a comment has no end", "write */ behind it");
    take();
    take();
  }

  IdlToken next() {
    IdlToken token{TokenKind::end, "", place_};
    if (ended()) return token;
    const char c = at();
    if (begins_word(c)) {
      token.kind = TokenKind::word;
      while (begins_word(at()) || is_digit(at())) token.text += take();
    } else if (is_digit(c) || (c == '.' && is_digit(at(1)))) {
      token.kind = TokenKind::number;
      token.text = number();
    } else if (c == '"' || c == '\'') {
      token.kind = c == '"' ? TokenKind::text : TokenKind::character;
      token.text = quoted(c);
    } else if (c == '#') {
      token.kind = TokenKind::directive;
      while (!ended() && at() != '\n') token.text += take();
    } else {
      token.kind = TokenKind::sign;
      token.text = sign();
    }
    return token;
  }
  std::string number() {
    std::string text;
    const auto exponent_sign = [&] {
      const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
      return !hexadecimal && (at() == '+' || at() == '-') && (text.back() == 'e' || text.back() == 'E');
    };
    while (is_digit(at()) || begins_word(at()) || at() == '.' || (!text.empty() && exponent_sign())) text += take();
    return text;
  }
  std::string quoted(char quote) {
    const SourcePlace begin = place_;
    take();
    std::string text;
    while (!ended() && at() != quote && at() != '\n') text += at() == '\\' ? escaped() : take();
    if (at() != quote) refuse(begin, "a text has no end on its line", std::string("write ") + quote + " behind it");
    take();
    return text;
  }
  char escaped() {
    const SourcePlace begin = place_;
    take();
    static constexpr std::string_view codes = "ntvbrfa\\?'\"";
    static constexpr std::string_view meant = "\n\t\v\b\r\f\a\\?'\"";
    if (const auto found = codes.find(at()); !ended() && found != std::string_view::npos) {
      take();
      return meant[found];
    }
    int value = 0;
    const bool hexadecimal = at() == 'x';
    if (hexadecimal) take();
    int digits = 0;
    for (; digits < (hexadecimal ? 2 : 3); ++digits) {
      static constexpr std::string_view all = "0123456789abcdef";
      const char lower = at() >= 'A' && at() <= 'F' ? static_cast<char>(at() - 'A' + 'a') : at();
      const auto digit = ended() ? std::string_view::npos : all.find(lower);
      if (digit == std::string_view::npos || digit >= (hexadecimal ? 16U : 8U)) break;
      value = value * (hexadecimal ? 16 : 8) + static_cast<int>(digit);
      take();
    }
    if (digits == 0 || value > 255) refuse(begin, "this escape means nothing", "write \\n, \\x and two digits, or the like");
    return static_cast<char>(value);
  }
  std::string sign() {
    for (const std::string_view two : {"::", "<<", ">>"}) {
      if (!source_.substr(at_).starts_with(two)) continue;
      take();
      take();
      return std::string(two);
    }
    static constexpr std::string_view known = "{}()[]<>;:,=+-*/%~|&^@.";
    if (known.find(at()) == std::string_view::npos) refuse(place_, "this byte begins nothing of IDL", "take it out");
    return std::string(1, take());
  }

  const std::string_view source_;
  std::size_t at_ = 0;
  SourcePlace place_;
};

}  // namespace

std::vector<IdlToken> tokens_of(std::string_view source, const std::string& file) { return Lexer(source, file).all(); }

}  // namespace spindrift::idl
