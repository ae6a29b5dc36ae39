// The bench of rosters goes there and back, with a gap of every member that stays through a change.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <string>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/bench/roster_changes.hpp>

#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

namespace {

RosterRun run_of(std::vector<ConfigOverride> settings) {
  return {.members = 2,
          .most = 4,
          .message_bytes = 128,
          .profile = tight_profile(128, 8),
          .between = Duration(0),
          .settings = std::move(settings)};
}

}  // namespace

TEST_CASE("what a bench left that was ended by a signal is removed by the next one, and nobody else's") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const pid_t killed = ::fork();
  REQUIRE(killed >= 0);
  if (killed == 0) {
    const auto left = PrivateDirectory::make();
    [[maybe_unused]] const auto said = ::write(ends[1], left.path().data(), left.path().size());
    ::raise(SIGKILL);
  }
  ::close(ends[1]);
  std::string path(256, '\0');
  path.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], path.data(), path.size()), 0)));
  ::close(ends[0]);
  REQUIRE(::waitpid(killed, nullptr, 0) == killed);
  REQUIRE(std::filesystem::path(path).filename().string().starts_with("spindrift-bench-"));
  const auto first = PrivateDirectory::make();
  CHECK_FALSE(std::filesystem::exists(path));
  const auto second = PrivateDirectory::make();
  CHECK(std::filesystem::exists(first.path()));
}

TEST_CASE("nodes are added and removed until others are left, with a gap of each member that stays, and nothing is lost") {
  const std::string fabric = GENERATE("shm", "tcp");
  const GroupNetwork network = GroupNetwork::make(fabric, "", 4);
  const RosterResult result = run_roster_changes(run_of(network.settings()));
  CHECK(result.added.changes_ms.size() == 2);
  CHECK(result.added.gaps_ms.size() == 2 + 3);
  CHECK(result.added.quiet_gaps_ms.size() == 2 + 3);
  CHECK(result.added.view_gaps_ms.size() >= 2 + 3);
  CHECK(result.removed.changes_ms.size() == 2);
  CHECK(result.removed.gaps_ms.size() == 3 + 2);
  CHECK(result.removed.quiet_gaps_ms.size() == 3 + 2);
  CHECK(result.removed.view_gaps_ms.size() >= 3 + 2);
  for (const auto* times : {&result.added, &result.removed}) {
    for (const auto* values : {&times->gaps_ms, &times->quiet_gaps_ms, &times->view_gaps_ms, &times->changes_ms})
      CHECK(std::ranges::all_of(*values, [](double value) { return value > 0; }));
  }
  CHECK(result.views >= 1 + 2 + 2);
  CHECK(result.sent > 0);
  CHECK(result.delivered > result.sent);
}

TEST_CASE("members that deliver in different orders, as those of an unordered subgroup do, are an error, not a figure") {
  const RosterRun run = run_of({{"LAYOUT/json_layout", R"([{"name": "bench", "mode": "unordered"}])"}});
  const Error error = error_of([&] { return run_roster_changes(run); });
  CHECK(error.kind() == ErrorKind::bad_input);
  CHECK(error.to_string().find("delivered different sequences in view") != std::string::npos);
}

TEST_CASE("a setting that no member can start with is an error before the first process") {
  const RosterRun run = run_of({{"SPINDRIFT/no_such_key", "1"}});
  CHECK(error_of([&] { return run_roster_changes(run); }).kind() == ErrorKind::bad_config);
}
