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

TEST_CASE("characters that begin a line or turn its direction come out as bytes, and their neighbors as they are") {
  CHECK(escaped("a\u2028b\u2029c") == R"(a\xe2\x80\xa8b\xe2\x80\xa9c)");
  CHECK(escaped("\u202a\u202e") == R"(\xe2\x80\xaa\xe2\x80\xae)");
  CHECK(escaped("\u2066\u2069") == R"(\xe2\x81\xa6\xe2\x81\xa9)");
  CHECK(escaped("\u2027\u202f\u2065\u206a\u00a0\u2128") == "\u2027\u202f\u2065\u206a\u00a0\u2128");
}

TEST_CASE("JSON has such characters, and commands for a terminal, by their numbers") {
  CHECK(harmless_json("{\"a\": \"\xc2\x85\x7f\xc2\x9b\"}\n") == "{\"a\": \"\\u0085\\u007f\\u009b\"}\n");
  CHECK(harmless_json("\u2028\u202e\u2069") == R"(\u2028\u202e\u2069)");
  CHECK(harmless_json("Grüße, 世界, \xf0\x9f\x8c\x8a \\\\ \xc2") == "Grüße, 世界, \xf0\x9f\x8c\x8a \\\\ \xc2");
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

TEST_CASE("what is cut, overlong or no character is no UTF-8") {
  CHECK(is_utf8(""));
  CHECK(is_utf8(std::string_view("Grüße\0\x1b", 9)));
  CHECK_FALSE(is_utf8("a\xff"));
  CHECK_FALSE(is_utf8("\xc3"));
  CHECK_FALSE(is_utf8("\xc0\xaf"));
}

}  // namespace spindrift::tools
