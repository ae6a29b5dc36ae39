// `spindrift group why` about members that cannot speak for themselves, for want of space or because they are stopped.
#include <unistd.h>

#include <chrono>
#include <csignal>

#include <catch2/catch.hpp>

#include "command.hpp"
#include "command_group.hpp"

using namespace spindrift::test;
using Catch::Matchers::Contains;

TEST_CASE_METHOD(GroupFixture, "a status that met a full disk is written when there is space again") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2));
  for (Command* each : {&zero, &one, &two}) REQUIRE(each->wait_for("in view"));
  const auto status = [&] { return run({"group", "status", "--config", config}).output; };
  const std::string before = "node 0: active, process " + std::to_string(zero.id()) + ", view 0\n";
  await_word("status", before);
  const std::string next = directory.path() + "/spindrift/status/0.status.new";
  REQUIRE(::symlink("/dev/full", next.c_str()) == 0);
  CHECK(end(one).code == 0);
  REQUIRE(zero.wait_for("the status file cannot be written"));
  REQUIRE(zero.wait_for("view 1: members 0, 2; left 1"));
  CHECK_THAT(status(), Contains(before));
  const std::string unwritten = "the status file of node 0 cannot be written since then, and says what was so before";
  const std::string why = run({"group", "why", "--config", config}).output;
  CHECK_THAT(why, Contains(unwritten) && Contains("process " + std::to_string(zero.id())) && Contains("; fix: "));
  CHECK_THAT(why, !Contains("of node 2 cannot be written"));
  CHECK_THAT(run({"group", "why", "--config", config, "--json"}).output, Contains("\"kind\": \"unwritten\""));
  REQUIRE(::unlink(next.c_str()) == 0);
  const std::string written = "node 0: active, process " + std::to_string(zero.id()) + ", view 1\n";
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (status().find(written) == std::string::npos && std::chrono::steady_clock::now() < limit) ::usleep(10'000);
  CHECK_THAT(status(), Contains(written));
  CHECK_THAT(run({"group", "why", "--config", config}).output, !Contains(unwritten));
  CHECK(end(two).code == 0);
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "group why says that others wait for a stopped member only where another one runs") {
  const std::vector<std::string> patient{"--set", "SPINDRIFT/suspect_after_ms=60000"};
  Command zero(arguments("node", 0, patient));
  Command one(arguments("node", 1, patient));
  Command two(arguments("node", 2, patient));
  for (Command* each : {&zero, &one, &two}) REQUIRE(each->wait_for("in view"));
  for (const int node : {0, 1, 2}) await_word("status", "node " + std::to_string(node) + ": active, ");
  zero.send_signal(SIGSTOP);
  await_word("why", "node 0 is stopped: ");
  CHECK_THAT(run({"group", "why", "--config", config}).output,
             Contains("has stopped its process, and the others wait for it; fix: kill -CONT "));
  for (Command* each : {&one, &two}) each->send_signal(SIGSTOP);
  for (const int node : {1, 2}) await_word("why", "node " + std::to_string(node) + " is stopped: ");
  const std::string why = run({"group", "why", "--config", config}).output;
  CHECK_THAT(why, !Contains("the others wait for it"));
  CHECK_THAT(why, Contains("has stopped its process; no node that runs on this host waits for it; fix: kill -CONT " +
                           std::to_string(zero.id()) + ", or end it\n"));
  for (Command* each : {&zero, &one, &two}) each->send_signal(SIGKILL);
}
