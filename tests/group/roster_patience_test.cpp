// The time for which whoever asks a member of this host waits.
#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/runtime_path.hpp>
#include <spindrift/fabric/host_sockets.hpp>
#include <spindrift/group/roster_service.hpp>

#include "group_fixture.hpp"

namespace spindrift {

using namespace std::chrono_literals;

TEST_CASE("whoever asks a member waits no longer than it says, and hears in that time what the member waited for") {
  const GroupFixture fixture;
  const auto directory = value_or_throw(GuardedDirectory::open(fixture.directory(), "late"));
  group::RosterService waits(NodeId(4), directory, [](const group::RosterCall& call) -> Result<Roster> {
    std::this_thread::sleep_for(call.patience);  // as a change of the view would that does not come
    return Error(ErrorKind::timed_out, "it is still wanted");
  });
  REQUIRE(waits.start());
  CHECK(group::change_roster_through(directory, NodeId(4), {{}, 4s}).error().message() == "it is still wanted");
  const auto silent = value_or_throw(fabric::listen_in(directory, node_file_name(NodeId(5), roster_suffix)));
  const auto begin = std::chrono::steady_clock::now();
  const Error late = group::change_roster_through(directory, NodeId(5), {{}, 200ms}).error();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  CHECK_THAT(late.message(), Catch::StartsWith("node 5 does not answer"));
}

}  // namespace spindrift
