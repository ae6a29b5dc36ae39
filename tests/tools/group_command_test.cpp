// node, send, tail and counters as processes of one group, and what they say to a mistaken user.
#include <algorithm>
#include <csignal>
#include <memory>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "exit_code.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

/// A group of three in a runtime directory of its own.
struct GroupFixture {
  Directory directory;
  std::string config =
      directory.file("group.cfg", "[SPINDRIFT]\nmembers = 0, 1, 2\nruntime_directory = " + directory.path() + "\n" +
                                      "join_timeout_ms = 30000\n[LAYOUT]\njson_layout = '[{\"name\": \"orders\"}, "
                                      "{\"name\": \"audit\", \"senders\": [1]}]'\n");

  [[nodiscard]] std::vector<std::string> arguments(const std::string& command, int id,
                                                   std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {command, "--config", config, "--id", std::to_string(id)});
    return more;
  }
};

std::string lines(int from, int to) {
  std::string text;
  for (int i = from; i <= to; ++i) text += "line " + std::to_string(i) + "\n";
  return text;
}

}  // namespace

TEST_CASE_METHOD(GroupFixture, "what one member sends, all tails print in the same order") {
  Command first_tail(arguments("tail", 1, {"--subgroup", "orders"}));
  Command second_tail(arguments("tail", 2, {"--subgroup", "orders"}));
  const CommandResult sender = run(arguments("send", 0, {"--subgroup", "orders"}), lines(1, 2000) + "no newline at the end");
  CHECK(sender.code == 0);
  CHECK_THAT(sender.errors, Contains("sent 2001 messages"));
  const CommandResult first = first_tail.finish();
  const CommandResult second = second_tail.finish();
  CHECK(first.code == 0);
  CHECK(second.code == 0);
  CHECK(std::count(first.output.begin(), first.output.end(), '\n') == 2001);
  CHECK_THAT(first.output,
             Contains("] 0: line 1\n") && Contains("] 0: line 2000\n") && Contains("] 0: no newline at the end\n"));
  CHECK(first.output == second.output);
}

TEST_CASE_METHOD(GroupFixture, "two senders at once give one order, and leaving after --count ends the group for all") {
  Command tail(arguments("tail", 2, {"--subgroup", "orders", "--count", "20", "--json"}));
  Command first(arguments("send", 0, {"--subgroup", "orders"}));
  Command second(arguments("send", 1, {"--subgroup", "orders"}));
  first.write(lines(1, 10));
  second.write(lines(1, 10));
  const CommandResult printed = tail.finish();
  CHECK(printed.code == 0);
  std::int64_t last = -1;
  int from_first = 0;
  for (std::size_t start = 0; start < printed.output.size();) {
    const auto end = printed.output.find('\n', start);
    const json line = json::parse(printed.output.substr(start, end - start));
    start = end + 1;
    CHECK(line.at("sequence").get<std::int64_t>() > last);
    last = line.at("sequence").get<std::int64_t>();
    from_first += line.at("node") == 0 ? 1 : 0;
    CHECK_THAT(line.at("text").get<std::string>(), Contains("line "));
  }
  CHECK(from_first == 10);
  const CommandResult ended = first.finish();  // its input is still open
  CHECK(ended.code == number(ExitCode::group_closed));
  CHECK_THAT(ended.errors, Contains("another member left") && Contains("10 messages"));
  CHECK(second.finish().code == number(ExitCode::group_closed));
}

TEST_CASE_METHOD(GroupFixture, "tail prints each delivery as one harmless line, and --block cuts bytes") {
  Command node(arguments("node", 2));
  Command tail(arguments("tail", 1, {"--subgroup", "orders"}));
  CHECK(run(arguments("send", 0, {"--subgroup", "orders", "--block", "4"}),
            "a\nb\x1b"
            "cdefg")
            .code == 0);
  const CommandResult printed = tail.finish();
  CHECK_THAT(printed.output, Contains("0: a\\x0ab\\x1b\n") && Contains("0: cdef\n") && Contains("0: g\n"));
  CHECK(node.finish().code == 0);
}

TEST_CASE_METHOD(GroupFixture,
                 "nodes say when they are in view, show counters from outside, and leave together on a signal") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1, {"--json"}));
  Command two(arguments("node", 2));
  REQUIRE(zero.wait_for("in view: node 0, members 0, 1, 2"));
  const CommandResult counters = run(arguments("counters", 0, {"--json"}));
  CHECK(counters.code == 0);
  CHECK(json::parse(counters.output).at("counters").size() > 4);
  REQUIRE(two.wait_for("in view"));
  zero.send_signal(SIGTERM);
  const CommandResult left = zero.finish();
  CHECK(left.code == 0);
  CHECK_THAT(left.output, Contains("leaving, which ends the group") && Contains("ended: every message was delivered"));
  const CommandResult json_lines = one.finish();
  CHECK(json_lines.code == 0);
  CHECK(json::parse(json_lines.output.substr(0, json_lines.output.find('\n'))).at("node") == 1);
  CHECK_THAT(two.finish().output, Contains("ended: every message was delivered"));
  CHECK(run(arguments("counters", 0)).code != 0);
}

TEST_CASE_METHOD(GroupFixture, "a member that is killed stops the others with an error that names it") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command sender(arguments("send", 2, {"--subgroup", "orders"}));
  REQUIRE(zero.wait_for("in view"));
  REQUIRE(one.wait_for("in view"));
  one.send_signal(SIGKILL);
  const CommandResult survivor = zero.finish();
  CHECK(survivor.code == number(ExitCode::member_lost));
  CHECK_THAT(survivor.errors, Contains("node 1 was lost"));
  CHECK(sender.finish().code == number(ExitCode::member_lost));
}

TEST_CASE_METHOD(GroupFixture, "a wrong subgroup is refused before joining, with the names that exist") {
  const CommandResult unknown = run(arguments("send", 0, {"--subgroup", "order"}));
  CHECK(unknown.code == number(ExitCode::usage));
  CHECK_THAT(unknown.errors, Contains("order") && Contains("use one of: orders, audit"));
  const CommandResult no_sender = run(arguments("send", 0, {"--subgroup", "audit"}));
  CHECK(no_sender.code == number(ExitCode::usage));
  CHECK_THAT(no_sender.errors, Contains("node 0 is not one of its senders") && Contains("give --id one of: 1"));
}

TEST_CASE_METHOD(GroupFixture, "a member that never comes is named when the time is up") {
  const std::vector<std::string> hasty{"--set", "SPINDRIFT/join_timeout_ms=700"};
  Command zero(arguments("node", 0, hasty));
  Command one(arguments("node", 1, hasty));
  const CommandResult first = zero.finish();
  CHECK((first.code == number(ExitCode::timed_out) || first.code == number(ExitCode::member_lost)));
  const CommandResult second = one.finish();
  CHECK((second.code == number(ExitCode::timed_out) || second.code == number(ExitCode::member_lost)));
  CHECK_THAT(first.errors + second.errors, Contains("node 2") && Contains("join_timeout_ms"));
}

TEST_CASE_METHOD(GroupFixture, "a second process with the same id is refused and the first goes on") {
  Command first(arguments("node", 0));
  REQUIRE(first.wait_for("joining"));
  // The first may not listen yet; whichever comes second is refused, and there is exactly one of them.
  Command again(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2));
  REQUIRE(two.wait_for("in view"));
  REQUIRE(one.wait_for("in view"));  // earlier, the signal would end it as it ends any process
  one.send_signal(SIGINT);
  const CommandResult a = first.finish();
  const CommandResult b = again.finish();
  CHECK(std::min(a.code, b.code) == 0);
  CHECK(std::max(a.code, b.code) == number(ExitCode::refused));
  CHECK_THAT(a.errors + b.errors, Contains("node 0") || Contains("id"));
}

TEST_CASE_METHOD(GroupFixture, "members with different configurations refuse each other and say why") {
  const std::string other =
      directory.file("other.cfg", "[SPINDRIFT]\nmembers = 0, 1, 2\nruntime_directory = " + directory.path() +
                                      "\n[LAYOUT]\njson_layout = '[{\"name\": \"trades\"}]'\n");
  Command zero(arguments("node", 0));
  Command one({"node", "--config", other, "--id", "1"});
  const CommandResult first = zero.finish();
  const CommandResult second = one.finish();
  CHECK(first.code == number(ExitCode::refused));
  CHECK(second.code == number(ExitCode::refused));
  CHECK_THAT(first.errors, Contains("config"));
}

TEST_CASE_METHOD(GroupFixture, "a line longer than a message may be is refused with the limit") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  const CommandResult sender =
      run(arguments("send", 2, {"--subgroup", "orders"}), "short\n" + std::string(20000, 'x') + "\n");
  CHECK(sender.code == number(ExitCode::usage));
  CHECK_THAT(sender.errors, Contains("message 2") && Contains("10240"));
  CHECK(zero.finish().code == 0);
}
