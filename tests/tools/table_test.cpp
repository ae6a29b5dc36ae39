// The printer of tables: columns as wide as their cells, and texts wrapped where a terminal ends.
#include <catch2/catch.hpp>

#include "table.hpp"

using spindrift::tools::TextTable;
using Align = TextTable::Align;

TEST_CASE("columns are as wide as their widest cell, and no line ends with blanks") {
  TextTable table({Align::right, Align::left, Align::left});
  table.add({"node", "state", "text"});
  table.add({"7", "gone", ""});
  CHECK(table.text({}) == "node  state  text\n   7  gone\n");
}

TEST_CASE("a character of several bytes takes one column") {
  TextTable table({Align::left, Align::left});
  table.add({"µs", "a"});
  table.add({"ms", "b"});
  CHECK(table.text({}) == "µs  a\nms  b\n");
}

TEST_CASE("a terminal's width wraps the last column between words, and nothing else does") {
  TextTable table({Align::left, Align::left});
  table.add({"bad", "one two three four five six seven"});
  CHECK(table.text({}) == "bad  one two three four five six seven\n");
  CHECK(table.text(38) == "bad  one two three four five six seven\n");
  CHECK(table.text(37) == "bad  one two three four five six\n       seven\n");
  CHECK(table.text(31) == "bad  one two three four five\n       six seven\n");
}

TEST_CASE("a text that a terminal would squeeze into a few characters is not wrapped") {
  TextTable table({Align::left, Align::left});
  table.add({"a column of twenty symbols and more", "one two three"});
  CHECK(table.text(40) == "a column of twenty symbols and more  one two three\n");
}

TEST_CASE("a word that is wider than the terminal has a line for itself") {
  TextTable table({Align::left});
  const std::string wide(50, 'w');
  table.add({"see " + wide + " there"});
  CHECK(table.text(40) == "see\n  " + wide + "\n  there\n");
}
