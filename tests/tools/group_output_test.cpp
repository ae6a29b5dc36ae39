// Commands of a group say things to people, and to programs that may not listen.
#include <unistd.h>

#include <csignal>

#include <catch2/catch.hpp>

#include "command.hpp"
#include "command_group.hpp"
#include "exit_code.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

TEST_CASE_METHOD(GroupFixture, "a key without effect is told of with its place, also by a command that joins no group") {
  const std::string place = "no effect in this version\" place=\"flag --set\" key=\"[PERS] reset\"";
  const std::vector<std::string> unused{"--set", "PERS/reset=true"};
  CHECK_THAT(run({"counters", "--config", config, "--id", "0", "--set", "PERS/reset=true"}).errors, Contains(place));
  Command node(arguments("node", 0, unused));
  REQUIRE(node.wait_for(place));
  node.send_signal(SIGTERM);
  CHECK(node.finish().code == number(ExitCode::interrupted));
}

TEST_CASE_METHOD(GroupFixture, "a node whose output cannot be written leaves with an error, one whose reader goes quietly") {
  Command zero(arguments("node", 0));
  const auto through = [&](int id, const std::string& what) {
    std::string line = SPINDRIFT_COMMAND;
    for (const std::string& word : arguments("node", id)) line += " " + word;
    return std::vector<std::string>{"-c", "{ " + line + "; echo code $? >&2; } " + what};
  };
  Command full(through(1, ">/dev/full"), "/bin/sh");
  CHECK_THAT(full.finish().errors, Contains("could not be written: No space left") && Contains("code 7\n"));
  Command mute(through(1, "| { head -n 3; exec 0<&-; echo gone >&2; }"), "/bin/sh");
  Command two(arguments("node", 2));
  REQUIRE(mute.wait_for("gone"));  // after its lines of the first view
  REQUIRE(two.wait_for("in view"));
  CHECK(end(two).code == 0);
  CHECK_THAT(mute.finish().errors, Contains("code 0\n") && !Contains("could not"));
  REQUIRE(zero.wait_for("view 2: members 0; left 1"));
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "an observer whose reader is gone, or never was, ends although no message comes") {
  const auto tail = [&](const std::string& what) {
    const std::string line = std::string(SPINDRIFT_COMMAND) + " tail --config " + config + " --subgroup orders";
    return Command({"-c", "{ " + line + "; echo code $? >&2; } " + what}, "/bin/sh").finish();
  };
  CHECK_THAT(tail("| true").errors, Contains("code 0\n") && !Contains("could not"));
  CHECK_THAT(tail(">&-").errors, Contains("code 7\n") && Contains("could not be written"));
}

TEST_CASE_METHOD(GroupFixture, "a tail whose reader has had enough leaves as after --count") {
  Command zero(arguments("node", 0));
  std::string line = SPINDRIFT_COMMAND;
  for (const std::string& word : arguments("tail", 1, {"--subgroup", "orders", "--reliable"})) line += " " + word;
  Command tail({"-c", "{ " + line + "; echo code $? >&2; } | { head -n 2; exec 0<&-; echo gone >&2; }"}, "/bin/sh");
  Command sender(arguments("send", 2, {"--subgroup", "orders"}));
  sender.write(lines(1, 2));
  REQUIRE(tail.wait_for("gone"));
  sender.write(lines(3, 3));
  REQUIRE(zero.wait_for("view 1: members 0, 2; left 1"));
  const CommandResult ended = tail.finish();
  CHECK_THAT(ended.errors, Contains("code 0\n") && !Contains("could not"));
  sender.close_input();
  CHECK(sender.finish().code == 0);
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "who waits for others says for whom and how long, and is quiet if told so") {
  Command quiet(arguments("node", 1, {"--quiet"}));
  Command sender(arguments("send", 0, {"--subgroup", "orders"}));
  REQUIRE(sender.wait_for("spindrift: waiting for node 2: "));
  await_word("why", "node 0 began to look for its group, and waits for node 2; fix: start what is missing");
  CHECK_THAT(sender.errors(), Contains(" s left\n"));
  quiet.send_signal(SIGTERM);
  CHECK_THAT(quiet.finish().errors, !Contains("waiting for"));
  sender.send_signal(SIGTERM);
  CHECK(sender.finish().code == number(ExitCode::interrupted));
}

namespace {

/// Two nodes over tcp at addresses of this test's own; what node 1 is called is up to the test.
std::string tcp_config(const Directory& directory, const std::string& other) {
  const auto pid = static_cast<unsigned>(::getpid());
  const std::string own = "127." + std::to_string(pid / 250 % 250 + 1) + "." + std::to_string(pid % 250) + ".77:7431";
  return directory.file("tcp.cfg", "[SPINDRIFT]\nmembers = 0, 1\nfabric = tcp\nsecurity = none\njoin_timeout_ms = 30000\n" +
                                       ("addresses = 0@" + own + ", 1@" + other + "\nruntime_directory = ") +
                                       directory.path() + "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n");
}

}  // namespace

TEST_CASE("a host name without an address is told of at once, and as the cause when the time is up") {
  const Directory directory;
  const std::string config = tcp_config(directory, "no-such-host.invalid:7431");
  Command node({"node", "--config", config, "--id", "0", "--set", "SPINDRIFT/join_timeout_ms=1000"});
  REQUIRE(node.wait_for("event=\"a node has no address\" node=1 endpoint=no-such-host.invalid:7431"));
  const CommandResult ended = node.finish();
  CHECK(ended.code == number(ExitCode::timed_out));
  CHECK_THAT(ended.errors, Contains("node 0 waited 1000 ms for node 1; because: cannot resolve no-such-host.invalid: ") &&
                               Contains("; fix: compare [SPINDRIFT] addresses with the host's names\n"));
}

TEST_CASE("a member whose own name has no address yet waits for it, and says so") {
  const Directory directory;
  const std::string config = directory.file(
      "own.cfg",
      "[SPINDRIFT]\nmembers = 0, 1\nfabric = tcp\nsecurity = none\njoin_timeout_ms = 4000\n"
      "addresses = 0@no-such-host.invalid:7431, 1@127.0.0.1:7432\nruntime_directory = " +
          directory.path() + "\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}]'\n");
  Command node({"node", "--config", config, "--id", "0"});
  REQUIRE(node.wait_for("event=\"a node has no address\" node=0 endpoint=no-such-host.invalid:7431"));
  REQUIRE(node.wait_for("spindrift: waiting for node 0: "));
  const CommandResult ended = node.finish();
  CHECK(ended.code == number(ExitCode::timed_out));
  CHECK_THAT(ended.errors, Contains("node 0 waited 4000 ms for its own host's name to have an address here; because: cannot "
                                    "resolve no-such-host.invalid: "));
}

TEST_CASE("doctor finds a member's own address taken by that member, and by nobody else") {
  const Directory directory;
  const std::string config = tcp_config(directory, "127.0.0.1:7431");
  Command node({"node", "--config", config, "--id", "0"});
  while (::access((directory.path() + "/spindrift/status/0.status").c_str(), F_OK) != 0) ::usleep(1000);
  const CommandResult own = run({"doctor", "--config", config, "--id", "0"});
  CHECK_THAT(own.output, Contains("this node's member runs, in process " + std::to_string(node.id()) + ", and listens at"));
  const CommandResult strange =
      run({"doctor", "--config", config, "--id", "0", "--set", "SPINDRIFT/group_name=other"});
  CHECK(strange.code == number(ExitCode::resource));
  CHECK_THAT(strange.output, Contains("\nbad ") && Contains("in use"));
  node.send_signal(SIGTERM);
  CHECK(node.finish().code == number(ExitCode::interrupted));
}

TEST_CASE_METHOD(GroupFixture, "the last of three goes on when the other two are killed at once") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2));
  REQUIRE(zero.wait_for("in view"));
  one.send_signal(SIGSTOP);  // so that the first death is not decided before the second
  two.send_signal(SIGKILL);
  one.send_signal(SIGKILL);
  REQUIRE(zero.wait_for("members 0; "));
  zero.send_signal(SIGTERM);
  CHECK(zero.finish().code == 0);
}
