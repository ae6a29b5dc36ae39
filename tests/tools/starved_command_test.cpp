// A member to which its machine gives no CPU keeps its place; one whose reader has stopped ends, where that is wanted.
#include <catch2/catch.hpp>

#include <sched.h>
#include <sys/wait.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "command_group.hpp"
#include "exit_code.hpp"

using namespace spindrift::test;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

namespace {

cpu_set_t first_cpu() {
  cpu_set_t allowed;
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
  }
  return one;
}

/// Every thread of the process runs there alone, and when nobody else wants to.
void set_last_in_line(pid_t process, const cpu_set_t& cpu) {
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
    const pid_t thread = std::stoi(task.path().filename());
    const sched_param none{};
    REQUIRE(::sched_setscheduler(thread, SCHED_IDLE, &none) == 0);
    REQUIRE(::sched_setaffinity(thread, sizeof cpu, &cpu) == 0);
  }
}

}  // namespace

TEST_CASE_METHOD(GroupFixture, "a member without a CPU is silent for longer than others are patient, and keeps its place") {
  const std::vector<std::string> impatient{"--set", "SPINDRIFT/suspect_after_ms=200"};
  Command zero(arguments("node", 0, impatient));
  Command one(arguments("node", 1, impatient));
  Command two(arguments("node", 2, impatient));
  for (Command* each : {&zero, &one, &two}) REQUIRE(each->wait_for("in view"));
  const cpu_set_t cpu = first_cpu();
  std::vector<std::unique_ptr<Command>> busy;
  for (int i = 0; i < 8; ++i) {
    busy.push_back(std::make_unique<Command>(std::vector<std::string>{"-c", "while :; do :; done"}, "/bin/bash"));
    REQUIRE(::sched_setaffinity(busy.back()->id(), sizeof cpu, &cpu) == 0);
  }
  set_last_in_line(two.id(), cpu);
  REQUIRE(zero.wait_for("waits for its machine, and is not removed"));
  busy.clear();
  CHECK(end(zero).code == 0);
  REQUIRE(one.wait_for("view 1: members 1, 2; left 0"));
  CHECK(end(one).code == 0);
  CHECK(end(two).code == 0);
}

TEST_CASE_METHOD(GroupFixture, "a tail that lags behind a reader who has stopped leaves the group, says why, and ends") {
  const std::vector<std::string> strict{"--set", "SPINDRIFT/lagging_member=remove", "--set",
                                        "SPINDRIFT/lagging_after_ms=300"};
  std::vector<std::string> reliable{"--subgroup", "orders", "--reliable"};
  reliable.insert(reliable.end(), strict.begin(), strict.end());
  Command zero(arguments("node", 0, strict));
  Command tail(arguments("tail", 2, reliable));
  std::vector<std::string> sends{"--subgroup", "orders"};
  sends.insert(sends.end(), strict.begin(), strict.end());
  Command send(arguments("send", 1, sends));
  REQUIRE(zero.wait_for("in view"));
  send.write(lines(1, 20'000));  // more than a pipe holds that nobody reads
  REQUIRE(zero.wait_for("failed 2"));
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(tail.id()), &ended, WEXITED | WNOWAIT) == 0);  // its output is still unread
  const CommandResult result = tail.finish();
  CHECK(result.code == number(ExitCode::failure));
  CHECK_THAT(result.errors, Contains("lag") && Contains("orders"));
  send.close_input();
  CHECK(send.finish().code == 0);
  CHECK(end(zero).code == 0);
}
