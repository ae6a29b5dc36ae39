// The checkers of rosters find what they are for.
#include <catch2/catch.hpp>

#include <functional>
#include <string>

#include "two_nodes.hpp"
#include "views/fleet.hpp"

namespace spindrift::sim {
namespace {

/// The invariant that is found where each view's roster is changed on its way to the checkers.
std::string found_with_roster(const std::function<void(View&)>& change) {
  Plan plan = two_that_found();
  plan.actions.push_back({10'000'000, Action::Kind::leave, 1, 0, 0, 0, Cut::nothing});
  plan.faults_end = 20'000'000;
  Fleet fleet(plan);
  fleet.set_view_tamper([&](Fleet&, std::uint32_t, View& view) { change(view); });
  fleet.run();
  return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
}

/// The invariant that is found where that view of that plan is changed on its way to the checkers.
std::string found_in_view(std::uint64_t id, const Plan& plan, const std::function<void(View&)>& change) {
  Fleet fleet(plan);
  fleet.set_view_tamper([&](Fleet&, std::uint32_t, View& view) {
    if (view.id.value() == id) change(view);
  });
  fleet.run();
  return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
}

std::string found_in_view_two(const Plan& plan, const std::function<void(View&)>& change) {
  return found_in_view(2, plan, change);
}

/// The invariant that is found where so many of two members are taken for others than they are, in the middle of a run.
std::string found_with_changed(std::uint32_t members, const std::function<void(Fleet&, std::uint32_t)>& change) {
  Plan plan = two_that_found();
  plan.faults_end = 20'000'000;
  Fleet fleet(plan);
  fleet.begin();
  fleet.run_until(15'000'000);
  for (std::uint32_t process = 0; process < members; ++process) change(fleet, process);
  fleet.end();
  return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
}

}  // namespace

TEST_CASE("a member that is not in its view's roster is found (V16)") {
  CHECK(found_with_roster([](View&) {}) == "nothing");
  CHECK(found_with_roster([](View& view) { view.roster.nodes.pop_back(); }) == "V16");
}

TEST_CASE("a roster of the wrong edition, and one that changes without one, are found (V17)") {
  const auto in_later_views = [](auto change) {
    return [change](View& view) {
      if (view.id.value() > 0) change(view.roster);
    };
  };
  CHECK(found_with_roster(in_later_views([](Roster& roster) { roster.nodes[0].endpoint = "elsewhere"; })) == "V17");
  CHECK(found_with_roster(in_later_views([](Roster& roster) { ++roster.edition; })) == "V17");
}

TEST_CASE("a drained node in a view whose roster has it drained is found (V20)") {
  CHECK(found_with_roster([](View& view) { view.roster.drained = {view.members.back()}; }) == "V20");
}

TEST_CASE("a subgroup that is not at its place, or took that of another from one view to the next, is found (V22)") {
  Plan plan = two_that_found();
  for (int i = 0; i < 2; ++i) {
    plan.subgroups.push_back(plan.subgroups[0]);
    plan.subgroups.back().added = true;
  }
  plan.actions.push_back({10'000'000, Action::Kind::create, 0, 0, 0, 0, Cut::nothing});
  plan.actions.push_back({15'000'000, Action::Kind::leave, 1, 0, 0, 0, Cut::nothing});
  plan.faults_end = 20'000'000;
  const auto found = [&](const auto& change) { return found_in_view_two(plan, change); };
  CHECK(found([](View&) {}) == "nothing");
  CHECK(found([](View& view) { view.subgroups[1].name = "another"; }) == "V22");
  CHECK(found([](View& view) { view.subgroups.emplace_back(); }) == "V22");
  CHECK(found([](View& view) {
          view.subgroups[1].name = view.roster.added[0].name = "another";
          ++view.roster.edition;
        }) == "V22");
}

TEST_CASE("sizes of rings that are not the roster's, that nobody wanted, or that not all files say, are found (V24)") {
  Plan plan = two_that_found();
  plan.actions.push_back({10'000'000, Action::Kind::resize, 0, 0, 0, 5, Cut::nothing});
  plan.actions.push_back({15'000'000, Action::Kind::leave, 1, 0, 0, 0, Cut::nothing});
  plan.faults_end = 20'000'000;
  const auto found = [&](const auto& change) { return found_in_view_two(plan, change); };
  CHECK(found([](View&) {}) == "nothing");
  CHECK(found([](View& view) { ++view.subgroups[0].profile.window_messages; }) == "V24");
  CHECK(found([](View& view) {
          ++view.roster.edition;
          view.subgroups[0].profile.window_messages = ++view.roster.sizes[0].window_messages;
        }) == "V24");
  CHECK(found([](View& view) {
          ++view.roster.edition;
          view.roster.filed = digest_of(view.roster.sizes);
        }) == "V24");
  CHECK(found_in_view(1, plan, [&](View& view) {  // somebody wanted these, and that is forgotten
          std::vector<RingSizes> before = view.roster.sizes;
          before[0].ring_bytes = plan.subgroups[0].profile.ring_bytes;
          before[0].window_messages = plan.subgroups[0].profile.window_messages;
          view.roster.filed = digest_of(before);
        }) == "V24");
}

TEST_CASE("sizes of rings that all files say, and that the group does not take, are found (V25)") {
  const auto read_and_said_nothing = [](Fleet& fleet, std::uint32_t process) {
    fleet.ring_files().edit(process, 1);
    static_cast<void>(fleet.ring_files().on_start(process, process));
  };
  CHECK(found_with_changed(1, read_and_said_nothing) == "nothing");
  CHECK(found_with_changed(2, read_and_said_nothing) == "V25");
}

TEST_CASE("a view whose version a member does not speak, or that falls, is found (V26)") {
  Plan plan = two_that_found();
  plan.actions.push_back({15'000'000, Action::Kind::leave, 1, 0, 0, 0, Cut::nothing});
  plan.actions.push_back({16'000'000, Action::Kind::start, 1, 0, 0, 0, Cut::nothing});
  plan.actions.push_back({20'000'000, Action::Kind::leave, 1, 0, 0, 0, Cut::nothing});
  plan.faults_end = 21'000'000;
  const auto changed_to = [](std::uint32_t version) {
    return [version](View& view) {
      ++view.roster.edition;
      view.roster.version = version;
    };
  };
  CHECK(found_in_view_two(plan, changed_to(18)) == "V26");
  CHECK(found_in_view_two(plan, changed_to(16)) == "V26");
}

TEST_CASE("a version that all members speak, and that the group does not go on to, is found (V27)") {
  const auto speaks_and_did_not_say_so = [](Fleet& fleet, std::uint32_t process) {
    fleet.releases().install(process, {17, 18});
    static_cast<void>(fleet.releases().on_start(process, process));
  };
  CHECK(found_with_changed(1, speaks_and_did_not_say_so) == "nothing");
  CHECK(found_with_changed(2, speaks_and_did_not_say_so) == "V27");
}

TEST_CASE("a wish for a roster that is neither granted nor impossible is found (V18)") {
  Plan plan = two_that_found();
  plan.nodes.emplace_back();
  plan.nodes.back().listed = false;
  plan.actions.push_back({10'000'000, Action::Kind::add, 0, 2, 0, 0, Cut::nothing});
  plan.faults_end = 20'000'000;
  Fleet granted(plan);
  granted.run();
  CHECK_FALSE(granted.report().violation());
  CHECK(granted.report().hits(Probe::roster_changed) > 0);
  Fleet unheard(plan);
  unheard.begin();
  unheard.run_until(15'000'000);
  REQUIRE(unheard.rosters().on_wish(0, {RosterChange::Kind::remove, NodeId(2), {}}, *unheard.running_views().front()));
  unheard.end();
  CHECK((unheard.report().violation() ? unheard.report().violation()->invariant : "nothing") == "V18");
}

TEST_CASE("a member that removes itself and leaves without the roster that has it removed is found (V18)") {
  for (const bool planted : {false, true}) {
    Plan plan = two_that_found();
    if (!planted) plan.actions.push_back({10'000'000, Action::Kind::remove, 1, 1, 0, 0, Cut::nothing});
    plan.faults_end = 20'000'000;
    Fleet fleet(plan);
    fleet.begin();
    fleet.run_until(15'000'000);
    if (planted) {
      REQUIRE(fleet.rosters().on_wish(1, {RosterChange::Kind::remove, NodeId(1), {}}, *fleet.running_views().front()));
      fleet.set_meddler([](Fleet&, std::uint32_t process, views::Member& member) {
        if (process == 1) member.request_leave();
      });
    }
    fleet.end();
    CHECK((fleet.report().violation() ? fleet.report().violation()->invariant : "nothing") == (planted ? "V18" : "nothing"));
    CHECK((fleet.report().hits(Probe::removed_from_the_roster) > 0) == !planted);
  }
}

}  // namespace spindrift::sim
