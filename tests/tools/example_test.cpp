// The example programs do what they say.
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "command.hpp"

using namespace spindrift::test;
using Catch::Matchers::Contains;

TEST_CASE("three tellers of the ledger example end with the same balances") {
  const Directory directory;
  std::ifstream shipped(EXAMPLES_DIRECTORY "/ledger/ledger.cfg");
  std::string text((std::istreambuf_iterator<char>(shipped)), std::istreambuf_iterator<char>());
  const std::string section = "[SPINDRIFT]\n";
  text.insert(text.find(section) + section.size(), "runtime_directory = " + directory.path() + "\n");
  const std::string config = directory.file("ledger.cfg", text);

  Command zero({config, "0"}, LEDGER_EXAMPLE);
  Command one({config, "1"}, LEDGER_EXAMPLE);
  const CommandResult third = Command({config, "2"}, LEDGER_EXAMPLE).finish();
  const CommandResult first = zero.finish();
  const CommandResult second = one.finish();
  INFO(first.errors + second.errors + third.errors);
  CHECK(first.code == 0);
  REQUIRE_THAT(first.output, Contains("teller 0: ") && Contains("balances"));
  const auto after_name = [](const std::string& line) { return line.substr(line.find(": ")); };
  CHECK(after_name(first.output) == after_name(second.output));
  CHECK(after_name(first.output) == after_name(third.output));
}
