// `spindrift counters`: the counters of nodes that run, stand still or are dead, in every format.
#include <csignal>
#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "command_group.hpp"
#include "exit_code.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

TEST_CASE_METHOD(GroupFixture, "counters of all nodes of a host, of one that stands still and of one that was killed") {
  const auto all = [&](const std::string& format) { return run({"counters", "--config", config, "--format", format}); };
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2));
  REQUIRE(zero.wait_for("in view"));
  REQUIRE(one.wait_for("in view"));
  one.send_signal(SIGKILL);
  CHECK(one.finish().code == -SIGKILL);
  REQUIRE(zero.wait_for("view 1: members 0, 2; failed 1"));
  REQUIRE(two.wait_for("view 1: members 0, 2; failed 1"));
  zero.send_signal(SIGSTOP);
  const CommandResult exposition = all("prometheus");
  CHECK(exposition.code == 0);
  CHECK_THAT(exposition.output, Contains("spindrift_node_running{group=\"spindrift\",node=\"0\"} 1\n") &&
                                    Contains("spindrift_node_running{group=\"spindrift\",node=\"1\"} 0\n") &&
                                    Contains("spindrift_views_installed_total{group=\"spindrift\",node=\"0\"} 2\n") &&
                                    Contains("spindrift_views_installed_total{group=\"spindrift\",node=\"1\"} 1\n") &&
                                    Contains("spindrift_subgroup_sent_messages_total{group=\"spindrift\",node=\"1\","
                                             "subgroup=\"audit\"} 0\n") &&
                                    !Contains("spindrift_other"));
  const json told = json::parse(all("json").output);
  CHECK(told.at("version") == 1);
  CHECK(told.at("group") == "spindrift");
  REQUIRE(told.at("nodes").size() == 3);
  CHECK(told.at("nodes")[1].at("node") == 1);
  CHECK(told.at("nodes")[1].at("counters").at("views.installed") == 1);
  CHECK_THAT(all("table").output, Contains("node  value  counter\n") || Contains("counter\n   0 "));
  const CommandResult dead = run(arguments("counters", 1, {"--format", "prometheus"}));
  CHECK_THAT(dead.output, Contains("node=\"1\"") && !Contains("node=\"0\"") && !Contains("node=\"2\""));
  CHECK(json::parse(run(arguments("counters", 1, {"--json"})).output).at("counters").at("views.installed") == 1);
  zero.send_signal(SIGCONT);
  CHECK(end(zero).code == 0);
  REQUIRE(two.wait_for("view 2"));
  CHECK(end(two).code == 0);
  // Nodes that left have taken their counters with them, and their status says so.
  CHECK_THAT(all("prometheus").output, Contains("spindrift_node_running{group=\"spindrift\",node=\"0\"} 0\n"));
}

TEST_CASE_METHOD(GroupFixture, "a file of counters that is broken is told of, and takes nothing from the others") {
  Command node(arguments("node", 0));
  REQUIRE(node.wait_for("joining"));
  Command waiting(arguments("node", 1));
  REQUIRE(waiting.wait_for("waiting for node"));
  std::ofstream(directory.path() + "/spindrift/7.counters") << "nonsense";
  std::ofstream(directory.path() + "/spindrift/seven.counters") << "nonsense";
  const CommandResult told = run({"counters", "--config", config, "--format", "prometheus"});
  CHECK(told.code == number(ExitCode::failure));
  CHECK_THAT(told.errors, Contains("7.counters: not a counters file: shorter than its header; fix: ") &&
                              Contains("seven.counters: the name of this file of counters is no node's; fix: "));
  CHECK_THAT(told.output, Contains("spindrift_unreadable_files{group=\"spindrift\"} 2\n") &&
                              Contains("spindrift_views_installed_total{group=\"spindrift\",node=\"1\"} 0\n"));
  for (Command* each : {&node, &waiting}) each->send_signal(SIGTERM);
  CHECK(waiting.finish().code == number(ExitCode::interrupted));
}

TEST_CASE_METHOD(GroupFixture, "counters of a group that is not here are an error with place, cause and fix") {
  const CommandResult missing = run({"counters", "--config", config});
  CHECK(missing.code == number(ExitCode::resource));
  CHECK_THAT(missing.errors, Contains(directory.path() + "/spindrift: ") && Contains("; fix: start a node"));
  const CommandResult twice = run({"counters", "--config", config, "--json", "--format", "table"});
  CHECK(twice.code == number(ExitCode::usage));
  CHECK(run({"counters", "--config", config, "--format", "xml"}).code == number(ExitCode::usage));
}
