// node, send, tail and counters as processes of one group, and what they say to a mistaken user.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "command_group.hpp"
#include "exit_code.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using nlohmann::json;

TEST_CASE_METHOD(GroupFixture, "what one member sends, all tails print in the same order") {
  Command first_tail(arguments("tail", 1, {"--subgroup", "orders", "--reliable", "--count", "2001"}));
  Command second_tail(arguments("tail", 2, {"--subgroup", "orders", "--reliable", "--count", "2001"}));
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

TEST_CASE_METHOD(GroupFixture, "a sender that was started without standard input is refused before it looks for its group") {
  const std::vector<std::string> send = arguments("send", 0, {"--subgroup", "orders"});
  for (const char* const input : {"<&-", "0>/dev/null", "<&- >&-"}) {
    std::vector<std::string> words{"-c", std::string("exec \"$0\" \"$@\" ") + input, SPINDRIFT_COMMAND};
    words.insert(words.end(), send.begin(), send.end());
    const CommandResult sender = Command(words, "/bin/sh").finish();
    CHECK(sender.code == 2);
    CHECK_THAT(sender.errors, StartsWith("spindrift: standard input: there is no standard input") && Contains("fix: "));
  }
}

TEST_CASE_METHOD(GroupFixture, "a sender whose standard input is empty sends nothing, and leaves") {
  Command first(arguments("node", 1));
  Command second(arguments("node", 2));
  std::vector<std::string> words{"-c", "exec \"$0\" \"$@\" </dev/null", SPINDRIFT_COMMAND};
  const std::vector<std::string> send = arguments("send", 0, {"--subgroup", "orders"});
  words.insert(words.end(), send.begin(), send.end());
  const CommandResult sender = Command(words, "/bin/sh").finish();
  CHECK(sender.code == 0);
  CHECK_THAT(sender.errors, Contains("sent 0 messages"));
  CHECK(end(first).code == 0);
  CHECK(end(second).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "two senders at once give one order, and a tail that leaves after --count leaves alone") {
  Command tail(arguments("tail", 2, {"--subgroup", "orders", "--reliable", "--count", "20", "--json"}));
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
    CHECK(line.at("view") == 0);
    CHECK(line.at("sequence").get<std::int64_t>() > last);
    last = line.at("sequence").get<std::int64_t>();
    from_first += line.at("node") == 0 ? 1 : 0;
    CHECK_THAT(line.at("text").get<std::string>(), Contains("line "));
  }
  CHECK(from_first == 10);
  first.write(lines(11, 20));  // in the view without the tail
  first.close_input();
  const CommandResult ended = first.finish();
  CHECK(ended.code == 0);
  CHECK_THAT(ended.errors, Contains("sent 20 messages"));
  second.send_signal(SIGINT);
  CHECK(second.finish().code == number(ExitCode::interrupted));
}

TEST_CASE_METHOD(GroupFixture, "tail prints each delivery as one harmless line, and --block cuts bytes") {
  Command node(arguments("node", 2));
  Command tail(arguments("tail", 1, {"--subgroup", "orders", "--reliable", "--count", "4"}));
  CHECK(run(arguments("send", 0, {"--subgroup", "orders", "--block", "4"}),
            "a\nb\x1b"
            "cdef\\x00g")
            .code == 0);
  const CommandResult printed = tail.finish();
  CHECK_THAT(printed.output,
             Contains("0: a\\x0ab\\x1b\n") && Contains("0: cdef\n") && Contains("0: \\\\x00\n") && Contains("0: g\n"));
  CHECK(end(node).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "a node prints every view, shows counters from outside, and leaves alone on a signal") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1, {"--json"}));
  Command two(arguments("node", 2));
  REQUIRE(zero.wait_for("in view: node 0, members 0, 1, 2"));
  const CommandResult counters = run(arguments("counters", 0, {"--json"}));
  CHECK(counters.code == 0);
  CHECK(json::parse(counters.output).at("counters").size() > 4);
  REQUIRE(one.wait_for("in view"));
  REQUIRE(two.wait_for("in view"));
  const CommandResult left = end(zero);
  CHECK(left.code == 0);
  CHECK_THAT(left.output, Contains("view 0: members 0, 1, 2; joined 1, 2\n") && Contains("leaving; the others go on") &&
                              Contains("left: what this member sent was delivered"));
  CHECK(run(arguments("counters", 0)).code == number(ExitCode::resource));
  REQUIRE(two.wait_for("view 1: members 1, 2; left 0\n"));
  REQUIRE(one.wait_for("\"view\":1"));
  CHECK(end(two).code == 0);
  REQUIRE(one.wait_for("\"view\":2"));
  const CommandResult json_lines = end(one);
  CHECK(json_lines.code == 0);
  std::istringstream stream(json_lines.output);
  std::vector<json> views;
  for (std::string line; std::getline(stream, line);) {
    views.push_back(json::parse(line));
    CHECK(views.back().at("node") == 1);
    if (views.back().at("event") != "view") views.pop_back();
  }
  REQUIRE(views.size() == 3);
  CHECK(views[1].at("left") == json::array({0}));
  CHECK(views[2].at("members") == json::array({1}));
}

TEST_CASE_METHOD(GroupFixture, "a node whose terminal is closed leaves, and one started by nohup goes on") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  std::vector<std::string> kept{SPINDRIFT_COMMAND};
  const std::vector<std::string> words = arguments("node", 2);
  kept.insert(kept.end(), words.begin(), words.end());
  Command two(kept, "/usr/bin/nohup");
  for (Command* each : {&zero, &one, &two}) REQUIRE(each->wait_for("in view"));
  two.send_signal(SIGHUP);
  one.send_signal(SIGHUP);
  CHECK(one.finish().code == 0);
  REQUIRE(zero.wait_for("view 1: members 0, 2; left 1"));
  CHECK(end(zero).code == 0);
  CHECK(two.wait_for("view 2: members 2; left 0"));
  CHECK(end(two).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "a member that is killed is removed with its reason, the others go on, and it comes back") {
  Command zero(arguments("node", 0));
  Command tail(arguments("tail", 2, {"--subgroup", "orders", "--reliable", "--count", "6"}));
  Command one(arguments("send", 1, {"--subgroup", "orders"}));
  one.write(lines(1, 3));
  REQUIRE(tail.wait_for("] 1: line 3\n"));
  REQUIRE(zero.wait_for("in view"));
  one.send_signal(SIGKILL);
  REQUIRE(zero.wait_for("view 1: members 0, 2; failed 1 ("));
  CHECK(one.finish().code == -SIGKILL);
  Command again(arguments("send", 1, {"--subgroup", "orders"}));
  REQUIRE(zero.wait_for("view 2: members 0, 2, 1; joined 1\n"));
  again.write(lines(4, 6));
  const CommandResult printed = tail.finish();
  CHECK(printed.code == 0);
  CHECK_THAT(printed.output, Contains("\n[2.") && Contains("] 1: line 4\n") && Contains("] 1: line 6\n"));
  again.close_input();
  CHECK(again.finish().code == 0);
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "a node that comes back says of its first view that it has joined, and not the others") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2));
  REQUIRE(zero.wait_for("in view"));
  two.send_signal(SIGKILL);
  REQUIRE(zero.wait_for("view 1"));
  Command again(arguments("node", 2));
  REQUIRE(again.wait_for("view 2: members 0, 1, 2; joined 2\n"));
  REQUIRE(again.wait_for("in view"));  // earlier, the signal would end it as it ends any process
  CHECK(end(again).code == 0);
  CHECK(end(one).code == 0);
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "the last of three stops with an error of its own when the others are silent, and may live") {
  const std::vector<std::string> hasty{"--set", "SPINDRIFT/suspect_after_ms=300"};
  Command zero(arguments("node", 0, hasty));
  Command one(arguments("node", 1, hasty));
  Command two(arguments("node", 2, hasty));
  REQUIRE(zero.wait_for("in view"));
  one.send_signal(SIGSTOP);
  two.send_signal(SIGSTOP);
  const CommandResult survivor = zero.finish();
  CHECK(survivor.code == number(ExitCode::no_majority));
  CHECK_THAT(survivor.errors, Contains("majority") && Contains("fix:"));
  std::size_t told = 0;
  for (auto at = survivor.errors.find("lost the majority"); at != std::string::npos; ++told)
    at = survivor.errors.find("lost the majority", at + 1);
  CHECK(told == 1);
}

TEST_CASE_METHOD(GroupFixture, "a member that was stopped for too long finds itself removed, with the reason") {
  const std::vector<std::string> hasty{"--set", "SPINDRIFT/suspect_after_ms=300"};
  Command zero(arguments("node", 0, hasty));
  Command one(arguments("node", 1, hasty));
  Command two(arguments("node", 2, hasty));
  REQUIRE(one.wait_for("in view"));
  one.send_signal(SIGSTOP);
  REQUIRE(zero.wait_for("view 1: members 0, 2; failed 1 ("));
  await_word("status", "node 1: removed, process ");
  const std::string why = run({"group", "why", "--config", config}).output;
  CHECK_THAT(why, Contains("node 1 is out of the group and does not know: the others (node 0") && Contains("kill -CONT"));
  one.send_signal(SIGCONT);
  const CommandResult removed = one.finish();
  CHECK(removed.code == number(ExitCode::removed));
  CHECK_THAT(removed.errors, Contains("removed") && Contains("silent for suspect_after_ms (300 ms)") &&
                                 Contains("; fix: see the others' reason where one of them runs (spindrift group why)"));
  REQUIRE(two.wait_for("view 1"));
  CHECK(end(two).code == 0);
  REQUIRE(zero.wait_for("view 2"));
  CHECK(end(zero).code == 0);
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
  CHECK(first.code == number(ExitCode::timed_out));
  const CommandResult second = one.finish();
  CHECK(second.code == number(ExitCode::timed_out));
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
  CHECK(end(one).code == 0);
  CHECK(end(two).code == 0);
  Command& goes_on = first.wait_for("view 2") ? first : again;
  REQUIRE(goes_on.wait_for("view 2"));
  const CommandResult refused = (&goes_on == &first ? again : first).finish();  // by itself
  CHECK(refused.code == number(ExitCode::refused));
  CHECK_THAT(refused.errors, Contains("node 0 is already running"));
  CHECK(end(goes_on).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "one that differs from most founders ends at once and says by which key, and they go on") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2, {"--set", "SPINDRIFT/suspect_after_ms=700"}));
  const CommandResult differing = two.finish();
  CHECK(differing.code == number(ExitCode::refused));
  CHECK_THAT(differing.errors, Contains("most of the founders, node 0, 1") && Contains("configurations differ") &&
                                   Contains("[SPINDRIFT] suspect_after_ms is 700 here and 2000 there") &&
                                   Contains("spindrift config show --effective FILE"));
  Command again(arguments("node", 2));
  for (Command* each : {&zero, &one, &again}) CHECK(each->wait_for("in view"));
  Command stranger(arguments("node", 2, {"--set", "SPINDRIFT/suspect_after_ms=700"}));
  CHECK(stranger.finish().code == number(ExitCode::refused));
  for (Command* each : {&again, &one, &zero}) CHECK(end(*each).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "of two founders that differ each waits on, and why says by which key") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1, {"--set", "SPINDRIFT/suspect_after_ms=700"}));
  await_word("why", "of node 1, [SPINDRIFT] suspect_after_ms is 2000 here and 700 there");
  await_word("why", "of node 0, [SPINDRIFT] suspect_after_ms is 700 here and 2000 there");
  CHECK(end(zero).code == number(ExitCode::interrupted));
  CHECK(end(one).code == number(ExitCode::interrupted));
}

TEST_CASE_METHOD(GroupFixture, "a line longer than a message may be is refused with the limit") {
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  const CommandResult sender =
      run(arguments("send", 2, {"--subgroup", "orders"}), "short\n" + std::string(20000, 'x') + "\n");
  CHECK(sender.code == number(ExitCode::failure));
  CHECK_THAT(sender.errors,
             Contains("message 2") && Contains("10240") && Contains("sent 1 message; every member has delivered it\n"));
  REQUIRE(zero.wait_for("view 1: members 0, 1; left 2"));
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "blocks longer than a message may be are refused before joining") {
  const CommandResult sender = run(arguments("send", 2, {"--subgroup", "orders", "--block", "20000"}));
  CHECK(sender.code == number(ExitCode::usage));
  CHECK_THAT(sender.errors, Contains("--block 20000 is more than the 10240 bytes that subgroup orders takes"));
}

TEST_CASE_METHOD(GroupFixture, "who is no member is told so at once, by node and by counters") {
  const CommandResult node = run(arguments("node", 7));
  CHECK(node.code == number(ExitCode::usage));
  CHECK(node.output.empty());
  CHECK_THAT(node.errors, Contains("node 7, which is not among the members"));
  CHECK_THAT(run(arguments("counters", 7)).errors, Contains("node 7, which is not among the members"));
}

TEST_CASE_METHOD(GroupFixture,
                 "a log file that cannot be written keeps a member from starting, and no directory is made for it") {
  const std::string nowhere = directory.path() + "/nowhere";
  const CommandResult node = run(arguments("node", 0, {"--set", "SPINDRIFT/log_file=" + nowhere + "/log"}));
  CHECK(node.code == number(ExitCode::resource));
  CHECK_THAT(node.errors, Contains(nowhere + "/log: cannot write the log: No such file") && Contains("fix: name a file"));
  CHECK(::access(nowhere.c_str(), F_OK) != 0);
}

TEST_CASE_METHOD(GroupFixture, "group why tells who ended before a view, and how") {
  const CommandResult late = run(arguments("node", 0, {"--set", "SPINDRIFT/join_timeout_ms=200"}));
  CHECK(late.code == number(ExitCode::timed_out));
  Command stopped(arguments("node", 1));
  Command killed(arguments("node", 2, {"--set", "SPINDRIFT/group_name=other"}));
  const std::string other = directory.path() + "/other";
  for (const std::string& status : {directory.path() + "/spindrift/status/1.status", other + "/status/2.status"})
    while (::access(status.c_str(), F_OK) != 0) ::usleep(1000);  // it is written anew in a view alone
  stopped.send_signal(SIGTERM);
  CHECK(stopped.finish().code == number(ExitCode::interrupted));
  killed.send_signal(SIGKILL);
  CHECK(killed.finish().code == -SIGKILL);
  CHECK_THAT(run({"group", "why", "--group-dir", other}).output,
             Contains("node 2 is gone: process " + std::to_string(killed.id()) + " ended before it was in a view\n"));
  const std::string why = run({"group", "why", "--config", config}).output;
  CHECK_THAT(why, Contains("node 0 ended: timed out: node 0 waited 200 ms for node 1, 2") &&
                      Contains("node 1 ended: interrupted: a signal came before it was in a view") && !Contains("died"));
}

TEST_CASE_METHOD(GroupFixture, "group status, members and why tell of the living, the dead and those that left") {
  CHECK(run({"group", "status", "--config", config}).code == number(ExitCode::resource));
  CHECK(run({"group", "status", "--config", config, "--group", "named-twice"}).code == number(ExitCode::usage));
  Command zero(arguments("node", 0));
  Command one(arguments("node", 1));
  Command two(arguments("node", 2));
  REQUIRE(zero.wait_for("in view"));
  REQUIRE(one.wait_for("in view"));
  REQUIRE(two.wait_for("in view"));
  CHECK_THAT(run({"group", "why", "--config", config}).output,
             Contains("sends are not possible in subgroup audit: this node is none of its senders"));
  one.send_signal(SIGKILL);
  REQUIRE(zero.wait_for("view 1"));
  REQUIRE(two.wait_for("view 1"));
  CHECK(end(two).code == 0);
  REQUIRE(zero.wait_for("view 2"));

  await_word("status", "node 0: active, process " + std::to_string(zero.id()) + ", view 2\n");
  const std::string group = directory.path() + "/spindrift";
  const CommandResult status = run({"group", "status", "--group-dir", group});
  CHECK(status.code == 0);
  CHECK_THAT(status.output, Contains("node 0: active, process " + std::to_string(zero.id()) + ", view 2\n") &&
                                Contains("node 1: died") && Contains("node 2: left") &&
                                Contains("subgroup orders: adequate, members 0, senders 0\n") &&
                                Contains("subgroup audit: inadequate: ") && !Contains("PARTITION"));
  const json members = json::parse(run({"group", "members", "--config", config, "--json"}).output);
  CHECK(members.at("newest").at("view") == 2);
  REQUIRE(members.at("newest").at("members").size() == 1);
  CHECK(members.at("newest").at("members")[0].at("node") == 0);
  const CommandResult why = run({"group", "why", "--config", config});
  CHECK_THAT(why.output, Contains("view 1: node 1 was removed: ") && Contains("says node 0, 2\n") &&
                             Contains("view 2: node 2 left; says node 0\n") && Contains("node 1 died: process ") &&
                             Contains("the others (node 0, 2) removed it for view 1") && Contains("node 2 ended: left") &&
                             Contains("nobody can send in subgroup audit"));

  directory.file("spindrift/status/7.status", "{}");
  const CommandResult broken = run({"group", "status", "--config", config});
  CHECK(broken.code == number(ExitCode::failure));
  CHECK_THAT(broken.errors, Contains("7.status"));
  CHECK_THAT(broken.output, Contains("node 0: active"));
  CHECK(end(zero).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "without partition safety every line of group status says so") {
  const std::vector<std::string> unsafe{"--set", "DERECHO/disable_partitioning_safety=true"};
  Command zero(arguments("node", 0, unsafe));
  Command one(arguments("node", 1, unsafe));
  Command two(arguments("node", 2, unsafe));
  REQUIRE(zero.wait_for("in view"));
  REQUIRE(one.wait_for("in view"));
  REQUIRE(two.wait_for("in view"));
  for (const char* what : {"status", "members", "why"}) {
    std::istringstream output(run({"group", what, "--config", config}).output);
    int seen = 0;
    for (std::string line; std::getline(output, line); ++seen) {
      if (line.find("incarnation") == std::string::npos) CHECK_THAT(line, Contains("NO PARTITION SAFETY"));
    }
    CHECK(seen > 0);
  }
}

TEST_CASE_METHOD(GroupFixture, "a tail of what the configuration does not have is refused before anybody is looked for") {
  const CommandResult subgroup = run({"tail", "--config", config, "--subgroup", "oders"});
  CHECK(subgroup.code == 2);
  CHECK_THAT(subgroup.errors, Contains("has no subgroup of that name; fix: use one of: orders, audit"));
  const CommandResult node = run(arguments("tail", 9, {"--subgroup", "orders"}));
  CHECK(node.code == 2);
}

TEST_CASE_METHOD(GroupFixture, "a sender whose group ends before it was done says how far its messages came") {
  const std::vector<std::string> hasty{"--set", "SPINDRIFT/suspect_after_ms=300"};
  Command zero(arguments("tail", 0, {"--subgroup", "orders", "--reliable", hasty[0], hasty[1]}));
  Command one(arguments("node", 1, hasty));
  Command sender(arguments("send", 2, {"--subgroup", "orders", hasty[0], hasty[1]}));
  sender.write(lines(1, 5));
  REQUIRE(zero.wait_for("line 5"));
  zero.send_signal(SIGSTOP);
  one.send_signal(SIGSTOP);
  const CommandResult ended = sender.finish();
  CHECK(ended.code == number(ExitCode::no_majority));
  CHECK_THAT(ended.errors,
             Contains("sent 5 messages; the first ") && Contains(" every member delivers that goes on, of the other "));
}
