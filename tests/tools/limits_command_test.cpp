// The command under low limits: each ends in its own error and code, and blames nobody else.
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../skip.hpp"
#include "command.hpp"
#include "exit_code.hpp"

using namespace spindrift;
using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

namespace {

constexpr const char* layout =
    "[LAYOUT]\njson_layout = '[{\"type_alias\": \"a\", \"layout\": [{\"min_nodes_by_shard\": [1], \"max_nodes_by_shard\": "
    "[3]}]}]'\n";

/// `ulimit` is the shell's: what follows runs under it.
std::vector<std::string> limited(const std::string& limits, std::vector<std::string> command) {
  std::vector<std::string> words{"-c", "ulimit " + limits + " && exec \"$0\" \"$@\"", SPINDRIFT_COMMAND};
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

CommandResult run_limited(const std::string& limits, const std::vector<std::string>& command) {
  Command running(limited(limits, command), "/bin/bash");
  running.write("a line\n");
  running.close_input();
  return running.finish();
}

struct Group {
  Directory directory;
  std::string config(const std::string& members) const {
    const std::string where = "\nruntime_directory = " + directory.path() + "/run\njoin_timeout_ms = 5000\n";
    return directory.file(std::to_string(members.size()) + ".cfg", "[SPINDRIFT]\nmembers = " + members + where + layout);
  }
};

/// It did its work, or named the limit and its remedy. Below some limit the dynamic loader ends it with 127.
void check_outcome(const CommandResult& result, const std::string& limit) {
  CAPTURE(limit, result.code, result.errors);
  if (result.code == 0 || result.code == 127) return;
  CHECK(result.code == number(ExitCode::resource));
  CHECK_THAT(result.errors, Contains("ulimit") && Contains("fix: "));
}

}  // namespace

TEST_CASE_METHOD(Group, "a member that may open few files says so, with code 7") {
  const std::string alone = config("0");
  bool refused = false;
  bool done = false;
  for (int files = 4; files <= 40; files += 1) {
    const CommandResult result =
        run_limited("-n " + std::to_string(files), {"send", "--config", alone, "--id", "0", "--subgroup", "a"});
    check_outcome(result, std::to_string(files));
    if (result.code == number(ExitCode::resource)) CHECK_THAT(result.errors, Contains("(ulimit -n)"));
    refused = refused || result.code == number(ExitCode::resource);
    done = done || result.code == 0;
  }
  CHECK(refused);
  CHECK(done);
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE_METHOD(Group, "a member with little address space says so, with code 7, and never aborts") {
  const std::string alone = config("0");
  bool done = false;
  for (const int mebibytes : {14, 20, 26, 32, 38, 44, 50, 60, 80, 100, 120, 150, 200, 400}) {
    const CommandResult result = run_limited("-v " + std::to_string(mebibytes * 1024),
                                             {"send", "--config", alone, "--id", "0", "--subgroup", "a"});
    check_outcome(result, std::to_string(mebibytes));
    done = done || result.code == 0;
  }
  CHECK(done);
}

TEST_CASE_METHOD(Group, "a stack that is too small is an error and no crash") {
  const CommandResult result = run_limited("-s 128", {"config", "keys"});
  CHECK(result.code == number(ExitCode::resource));
  CHECK_THAT(result.errors, Contains("(ulimit -s)"));
}
#endif

TEST_CASE_METHOD(Group, "of three members the one that may open too few files ends with code 7, and the others know why") {
  const std::string three = config("0, 1, 2");
  const auto node = [&](int id) {
    return std::vector<std::string>{"node", "--config", three, "--id", std::to_string(id)};
  };
  for (int files = 14; files <= 20; ++files) {
    Command first(node(0));
    Command third(node(2));
    Command starved(limited("-n " + std::to_string(files), node(1)), "/bin/bash");
    const bool joined = starved.wait_for("in view");
    if (joined) starved.send_signal(SIGTERM);
    const CommandResult result = starved.finish();
    CAPTURE(files, joined, result.errors);
    CHECK(result.code == number(joined && result.code == 0 ? ExitCode::success : ExitCode::resource));
    if (result.code != 0) CHECK_THAT(result.errors, Contains("ulimit -n"));
    CHECK_THAT(result.errors, !Contains("packet that no peer sends") && !Contains("greet as a peer"));
    for (Command* const other : {&first, &third}) {
      other->send_signal(SIGTERM);
      const CommandResult ended = other->finish();
      CHECK_THAT(ended.errors + ended.output, !Contains("rejected what this process sent") && !Contains("greet as a peer"));
    }
  }
}

TEST_CASE_METHOD(Group, "a newcomer that may open too few files for all members ends with code 7, and blames no member") {
  const std::string three = config("0, 1, 2");
  const auto node = [&](int id) {
    return std::vector<std::string>{
        "node", "--config", three, "--id", std::to_string(id), "--set", "SPINDRIFT/founders=0, 1"};
  };
  Command first(node(0)), second(node(1));
  for (Command* const each : {&first, &second}) REQUIRE(each->wait_for("in view"));
  int refused = 0;
  for (int files = 30; files <= 42; files += 4) {
    Command newcomer(limited("-n " + std::to_string(files), node(2)), "/bin/bash");
    const bool joined = newcomer.wait_for("in view");
    if (joined) newcomer.send_signal(SIGTERM);
    const CommandResult result = newcomer.finish();
    CAPTURE(files, joined, result.errors);
    CHECK(result.code == number(joined ? ExitCode::success : ExitCode::resource));
    if (!joined) CHECK_THAT(result.errors, Contains("(ulimit -n)") && !Contains("another process"));
    refused += joined ? 0 : 1;
  }
  CHECK(refused > 0);
  for (Command* const each : {&first, &second}) {
    each->send_signal(SIGTERM);
    CHECK(each->finish().code == 0);
  }
}

TEST_CASE_METHOD(Group, "a user who may have no more threads is told so, with code 7") {
  if (::geteuid() != 0) return skip("only root can become a user without threads");
  const std::string where = "/dev/shm/spindrift-test-" + std::to_string(::getpid());
  const std::string alone = directory.file("u.cfg", "[SPINDRIFT]\nmembers = 0\nruntime_directory = " + where +
                                                        "\njoin_timeout_ms = 5000\n" + layout);
  for (int threads = 1; threads <= 4; ++threads) {
    // The configuration comes by a descriptor, since that user cannot enter this test's directory.
    Command running({"-c",
                     "exec 9<\"$1\"; exec setpriv --reuid 54321 --regid 54321 --clear-groups prlimit --nproc=" +
                         std::to_string(threads) + " \"$0\" send --config /proc/self/fd/9 --id 0 --subgroup a",
                     SPINDRIFT_COMMAND, alone},
                    "/bin/bash");
    running.close_input();
    const CommandResult result = running.finish();
    CAPTURE(threads, result.code, result.errors);
    if (result.code == 0) continue;
    CHECK(result.code == number(ExitCode::resource));
    CHECK_THAT(result.errors, Contains("ulimit -u") && Contains("fix: "));
  }
  CHECK(Command({"-rf", where}, "/bin/rm").finish().code == 0);
}

TEST_CASE_METHOD(Group, "a limit on the size of files is named, and kills nobody") {
  const std::string alone = config("0");
  for (const std::string blocks : {"1", "100"}) {
    const std::string script = "ulimit -f " + blocks + "; exec \"$0\" send --config \"$1\" --id 0 --subgroup a";
    Command running({"-c", script, SPINDRIFT_COMMAND, alone}, "/bin/bash");
    running.close_input();
    const CommandResult result = running.finish();
    CAPTURE(blocks, result.errors);
    CHECK(result.code == number(ExitCode::resource));
    CHECK_THAT(result.errors, Contains("may have " + blocks + " KiB (ulimit -f)") && Contains("fix: "));
  }
}

TEST_CASE_METHOD(Group, "a signal ends a member that still looks for its group with code 130") {
  const std::string three = config("0, 1, 2");
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const std::string socket = directory.path() + "/run/spindrift/0.sock";
    ::unlink(socket.c_str());
    Command waiting({"node", "--config", three, "--id", "0", "--set", "SPINDRIFT/log_level=info"});
    REQUIRE(waiting.wait_for("joining group"));
    // Its socket is there when it listens, which is behind the handler's installation.
    while (::access(socket.c_str(), F_OK) != 0) ::usleep(1000);
    waiting.send_signal(signal);
    const CommandResult result = waiting.finish();
    CHECK(result.code == number(ExitCode::interrupted));
    CHECK_THAT(result.errors, Contains("interrupted before this member was in a view"));
  }
}
