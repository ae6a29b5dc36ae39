// Whole runs with views: what they must notice they notice; scenarios come out as they say, and no crash at any effect of a
// view change does harm.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <spindrift/core/log.hpp>

#include "views/crash_points.hpp"
#include "views/fleet.hpp"
#include "views/minimize.hpp"
#include "views/script.hpp"

namespace spindrift::sim {
namespace {

template <class Plant>
std::string found_in_run(Plant&& plant) {
  REQUIRE(log::set_levels("off").ok());
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Fleet fleet(Plan::of(seed));
    bool planted = false;
    plant(fleet, planted);
    fleet.run();
    if (planted) return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
  }
  return "never planted";
}

}  // namespace

TEST_CASE("a member that does not find its way is found (L1, V13)") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = Plan::of(7);
  plan.events_max = 100;
  Fleet fleet(plan);
  fleet.run();
  REQUIRE(fleet.report().violation());
  CHECK(fleet.report().violation()->invariant == "V13");
}

TEST_CASE("a run notices a second delivery, a wrong view, and a message that never comes") {
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_tamper([&planted](Fleet& at, std::uint32_t, std::uint32_t subgroup, std::vector<Delivery>& batch) {
            if (planted || at.plan().subgroups[subgroup].mode != DeliveryMode::ordered) return;
            batch.push_back(batch.back());
            planted = true;
          });
        }) == "M2");
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_view_tamper([&planted](Fleet&, std::uint32_t, View& view) {
            if (planted || view.id.value() < 1 || view.members.size() < 2) return;
            view.incarnations[0] ^= 2;
            planted = true;
          });
        }) != "nothing");
  CHECK(found_in_run([](Fleet& fleet, bool& planted) {
          fleet.set_meddler([&planted](Fleet& at, std::uint32_t process, views::Member& member) {
            if (planted || member.state() != views::MemberState::active || at.plan().storm) return;
            const auto& actions = at.plan().actions;
            if (std::any_of(actions.begin(), actions.end(), [](const Action& a) { return a.kind != Action::Kind::start; }))
              return;
            const std::uint32_t stream = at.history().add_stream(process, 0);
            if (!member.epoch()->view().subgroups[0].member_position(member.self())) return;
            at.history().stream(stream).issued = at.history().stream(stream).committed = 1;
            planted = true;
          });
        }) == "M8");
}

TEST_CASE("what is larger than the fabric's largest message arrives in parts") {
  REQUIRE(log::set_levels("off").ok());
  std::size_t joins = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Plan plan = Plan::of(seed);
    plan.fabric.message_bytes_max = 128;  // less than a view notice, a refusal or a piece of a state
    Fleet fleet(plan);
    fleet.run();
    INFO(plan.describe());
    CHECK_FALSE(fleet.report().failed());
    joins += fleet.report().hits(Probe::state_loaded);
  }
  CHECK(joins > 0);
}

TEST_CASE("a failing plan is struck down to what its violation needs") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = Plan::of(2);
  plan.events_max = 400;  // every run fails by this, also the smallest
  const Minimized smallest = minimize(plan);
  CHECK(smallest.invariant == "V13");
  CHECK(smallest.plan.senders.size() + smallest.plan.actions.size() < plan.senders.size() + plan.actions.size());
  CHECK(minimize(Plan::of(2)).invariant.empty());
}

TEST_CASE("no single crash at any effect of a view change does harm") {
  REQUIRE(log::set_levels("off").ok());
  using Change = CrashPointOptions::Change;
  for (const Change change : {Change::crash, Change::leave, Change::join}) {
    const std::uint64_t every = change == Change::join ? 7 : 1;
    const CrashPointResult result = run_crash_points({.nodes = 3, .change = change, .pairs_max = 60, .every = every});
    INFO(to_string(change) << ": " << result.failure);
    CHECK(result.failure.empty());
    CHECK(result.boundaries > 50);
  }
}

TEST_CASE("every scenario comes out as it says") {
  REQUIRE(log::set_levels("off").ok());
  std::size_t scripts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(SPINDRIFT_SIM_SCRIPTS)) {
    if (entry.path().extension() != ".txt") continue;
    ++scripts;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      std::ifstream script(entry.path());
      const ScriptResult result = run_script(script, false, seed);
      INFO(entry.path().filename().string() << ", seed " << seed << ": " << result.failure);
      CHECK(result.failure.empty());
      CHECK(result.expectations > 0);
    }
  }
  CHECK(scripts >= 10);
}

TEST_CASE("a scenario that expects what does not come fails, and says where") {
  REQUIRE(log::set_levels("off").ok());
  std::istringstream wrong("nodes 3\nexpect view of 0 is 0,1,2\nafter 1ms crash 1\nexpect view of 0 is 0,1,2,3\n");
  CHECK(run_script(wrong).failure.find("line 4") != std::string::npos);
  std::istringstream nonsense("nodes 3\nat 1ms dance 1\n");
  CHECK(run_script(nonsense).failure.find("dance") != std::string::npos);
}

}  // namespace spindrift::sim
