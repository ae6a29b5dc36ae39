// Bytes as text that commands no terminal and can be read back.
#include <catch2/catch.hpp>

#include "escaped.hpp"

namespace spindrift::tools {

TEST_CASE("text stays as it is, and characters beyond ASCII too") {
  CHECK(escaped("") == "");
  CHECK(escaped("line 1, \"quoted\"") == "line 1, \"quoted\"");
  CHECK(escaped("Grüße, 世界, \xf0\x9f\x8c\x8a") == "Grüße, 世界, \xf0\x9f\x8c\x8a");
}

TEST_CASE("control characters and what is no UTF-8 come out as bytes in hexadecimal digits") {
  CHECK(escaped(std::string_view("\0\t\n\x1b\x7f", 5)) == R"(\x00\x09\x0a\x1b\x7f)");
  CHECK(escaped("\xc2\x9b!") == R"(\xc2\x9b!)");  // a terminal's command by one character
  CHECK(escaped("a\xff\xfe") == R"(a\xff\xfe)");
  CHECK(escaped("\xc3") == R"(\xc3)");                          // cut
  CHECK(escaped("\xc0\xaf") == R"(\xc0\xaf)");                  // overlong
  CHECK(escaped("\xe0\x80\xaf") == R"(\xe0\x80\xaf)");          // overlong
  CHECK(escaped("\xed\xa0\x80") == R"(\xed\xa0\x80)");          // half a surrogate pair
  CHECK(escaped("\xf4\x90\x80\x80") == R"(\xf4\x90\x80\x80)");  // beyond the last character
}

TEST_CASE("a backslash is doubled, so that no text looks like another's bytes") {
  CHECK(escaped("\\x00") == R"(\\x00)");
  CHECK(escaped("\\") == R"(\\)");
  CHECK(escaped("\\x00") != escaped(std::string_view("\0", 1)));
}

TEST_CASE("in a message a backslash stays, and a command for the terminal does not") {
  CHECK(harmless("C:\\file: Grüße") == "C:\\file: Grüße");
  CHECK(harmless("a\x1b[31m") == R"(a\x1b[31m)");
}

}  // namespace spindrift::tools
