// The example of a bank does what it says.
#include <fstream>
#include <iterator>
#include <memory>
#include <vector>

#include <csignal>

#include <catch2/catch.hpp>

#include "../tools/command.hpp"

using namespace spindrift::test;

TEST_CASE("a teller of the bank example makes each deposit once though the member that it asks is killed") {
  const Directory directory;
  std::ifstream shipped(BANK_DIRECTORY "/bank.cfg");
  std::string text((std::istreambuf_iterator<char>(shipped)), std::istreambuf_iterator<char>());
  const std::string section = "[SPINDRIFT]\n";
  text.insert(text.find(section) + section.size(), "runtime_directory = " + directory.path() + "\n");
  const std::string config = directory.file("bank.cfg", text);
  std::vector<std::unique_ptr<Command>> members;
  for (const char* id : {"0", "1", "2"})
    members.push_back(std::make_unique<Command>(std::vector<std::string>{"member", config, id}, BANK_EXAMPLE));
  for (const auto& member : members) REQUIRE(member->wait_for("lets tellers in"));

  Command teller({"teller", "127.0.0.1:7621", "Ann", "2000"}, BANK_EXAMPLE);
  REQUIRE(teller.wait_for("half of the deposits are made"));
  members[0]->send_signal(SIGKILL);
  const CommandResult result = teller.finish();
  INFO(result.errors);
  CHECK(result.code == 0);
  CHECK(result.output.find("Ann has 2000\n") != std::string::npos);
  for (const auto& member : members) member->send_signal(SIGKILL);
}
