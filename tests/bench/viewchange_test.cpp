// The bench of view changes counts every death and join, and every gap is one that a survivor saw.
#include <algorithm>

#include <catch2/catch.hpp>

#include <spindrift/bench/viewchange.hpp>

#include "failure.hpp"

using namespace spindrift;
using namespace spindrift::bench;

TEST_CASE("every round kills a member and brings one back, and each survivor has a gap for both") {
  for (const bool leader : {false, true}) {
    const ViewChangeRun run{.shape = {3, 3, tight_profile(256, 50), {}},
                            .message_bytes = 256,
                            .state_bytes = leader ? 200'000U : 0U,
                            .rounds = 2,
                            .kill_leader = leader};
    const auto result = run_view_changes(run);
    CHECK(result.kill_gaps_ms.size() == 4);
    CHECK(result.join_gaps_ms.size() == 4);
    CHECK(result.steady_gaps_ms.size() == 4);
    CHECK(result.catch_up_ms.size() == 2);
    const auto positive = [](double value) { return value > 0; };
    CHECK(std::all_of(result.kill_gaps_ms.begin(), result.kill_gaps_ms.end(), positive));
    CHECK(std::all_of(result.join_gaps_ms.begin(), result.join_gaps_ms.end(), positive));
    CHECK(std::all_of(result.catch_up_ms.begin(), result.catch_up_ms.end(), positive));
  }
}

TEST_CASE("members that cannot start are an error, not a figure") {
  const ViewChangeRun run{.shape = {3, 3, tight_profile(256, 50), {{"SPINDRIFT/no_such_key", "1"}}}};
  CHECK(error_of([&] { return run_view_changes(run); }).kind() == ErrorKind::bad_config);
}

TEST_CASE("of every change each survivor tells what part of it was connecting, and each newcomer of its start") {
  const ViewChangeRun run{
      .shape = {3,
                2,
                tight_profile(256, 8),
                {{"SPINDRIFT/fabric", "vq:net", "the test"}, {"SPINDRIFT/addresses", loopback_addresses(3), "the test"}}},
      .message_bytes = 256,
      .state_bytes = 0,
      .rounds = 2,
      .kill_leader = true,
      .share = true};
  const auto result = run_view_changes(run);
  CHECK(result.kill_shares.size() == 4);
  CHECK(result.join_shares.size() == 4);
  REQUIRE(result.newcomer_shares.size() == 2);
  for (const auto* shares : {&result.kill_shares, &result.join_shares, &result.newcomer_shares}) {
    for (const ChangeShare& share : *shares) {
      CHECK(share.agree_ms >= 0);
      CHECK(share.change_ms > share.agree_ms);
      CHECK(share.change_ms > share.exchange_ms);
      CHECK(share.connecting_ms > 0);
      CHECK(share.links_ms < share.connecting_ms);
      CHECK(share.connecting_cpu_ms > 0);
      CHECK(share.cpu_ms > 0);
      const bool newcomer = shares == &result.newcomer_shares;
      CHECK((share.open_ms > 0) == newcomer);
    }
  }
}

TEST_CASE("members on loopback have an address each") {
  CHECK(loopback_addresses(2) == "0@127.77.0.1:7400, 1@127.77.0.2:7400");
  CHECK(loopback_addresses(300).ends_with("299@127.77.1.100:7400"));
}
