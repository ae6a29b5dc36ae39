// The bench of view changes counts every death and join, and every gap is one that a survivor saw.
#include <algorithm>

#include <catch2/catch.hpp>

#include <spindrift/bench/viewchange.hpp>

using namespace spindrift;
using namespace spindrift::bench;

TEST_CASE("every round kills a member and brings one back, and each survivor has a gap for both") {
  for (const bool leader : {false, true}) {
    const ViewChangeRun run{.shape = {3, 3, profile_for(256, 50, 0), {}},
                            .message_bytes = 256,
                            .state_bytes = leader ? 200'000U : 0U,
                            .rounds = 2,
                            .kill_leader = leader};
    const auto result = run_view_changes(run);
    INFO((result ? std::string() : result.error().to_string()));
    REQUIRE(result.ok());
    CHECK(result->kill_gaps_ms.size() == 4);
    CHECK(result->join_gaps_ms.size() == 4);
    CHECK(result->steady_gaps_ms.size() == 4);
    CHECK(result->catch_up_ms.size() == 2);
    const auto positive = [](double value) { return value > 0; };
    CHECK(std::all_of(result->kill_gaps_ms.begin(), result->kill_gaps_ms.end(), positive));
    CHECK(std::all_of(result->join_gaps_ms.begin(), result->join_gaps_ms.end(), positive));
    CHECK(std::all_of(result->catch_up_ms.begin(), result->catch_up_ms.end(), positive));
  }
}

TEST_CASE("members that cannot start are an error, not a figure") {
  const ViewChangeRun run{.shape = {3, 3, profile_for(256, 50, 0), {{"SPINDRIFT/no_such_key", "1"}}}};
  CHECK_FALSE(run_view_changes(run).ok());
}
