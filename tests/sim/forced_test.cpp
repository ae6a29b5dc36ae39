// The checkers of foundings by force find what they are for.
#include <catch2/catch.hpp>

#include <spindrift/core/log.hpp>
#include <spindrift/views/versions.hpp>

#include "two_nodes.hpp"
#include "views/fleet.hpp"

namespace spindrift::sim {
namespace {

// Three that die, of which one comes back.
Plan one_of_three() {
  Plan plan = two_that_found();
  plan.nodes.push_back({.host = 2});
  plan.founders.push_back(2);
  plan.actions.push_back({1, Action::Kind::start, 2, 0, 0, 0, Cut::nothing});
  for (const std::uint32_t node : {0U, 1U, 2U})
    plan.actions.push_back({10'000'000, Action::Kind::crash, node, 0, 0, 0, Cut::nothing});
  plan.actions.push_back({20'000'000, Action::Kind::start, 0, 0, 0, 0, Cut::nothing});
  plan.faults_end = 40'000'000;
  return plan;
}
constexpr std::uint32_t back = 3;  // the process that does

enum class Planted { nothing, not_told, not_done };

std::string found_in(Planted planted, std::uint64_t seed) {
  Plan plan = one_of_three();
  plan.seed = seed;
  if (planted == Planted::nothing) plan.actions.push_back({30'000'000, Action::Kind::found, 0, 0, 0, 0, Cut::nothing});
  Fleet fleet(std::move(plan));
  fleet.set_meddler([planted, once = true](Fleet& meddled, std::uint32_t process, views::Member& member) mutable {
    if (process != back || member.state() != views::MemberState::looking || !std::exchange(once, false)) return;
    const std::vector<NodeId> itself{NodeId(0)};
    if (planted == Planted::not_told) CHECK(member.revive(itself, true).ok());
    if (planted == Planted::not_done) meddled.note_told(*meddled.newest(0), itself);
  });
  fleet.run();
  if (planted == Planted::nothing) CHECK(fleet.report().hits(Probe::founded_by_force) > 0);
  return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
}

}  // namespace

TEST_CASE("those that left one after another found when they are told to, where the last one is gone") {
  REQUIRE(log::set_levels("off").ok());
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Plan plan = two_that_found();
    plan.seed = seed;
    plan.nodes.push_back({.host = 2});
    plan.founders.push_back(2);
    const auto act = [&](Ticks at, Action::Kind kind, std::uint32_t node) {
      plan.actions.push_back({at, kind, node, 0, 0, 0, Cut::nothing});
    };
    for (const std::uint32_t node : {0U, 1U, 2U}) {
      Action install{0, Action::Kind::install, node, 17, 0, 0, Cut::nothing};
      install.count = views::revivals_since;
      plan.actions.push_back(install);
    }
    act(1, Action::Kind::start, 2);
    act(10'000'000, Action::Kind::leave, 0);
    act(15'000'000, Action::Kind::leave, 1);
    act(20'000'000, Action::Kind::crash, 2);
    act(21'000'000, Action::Kind::start, 0);
    act(22'000'000, Action::Kind::start, 1);
    act(30'000'000, Action::Kind::found, 0);
    plan.faults_end = 40'000'000;
    Fleet fleet(std::move(plan));
    fleet.run();
    CHECK_FALSE(fleet.report().violation());
    CHECK(fleet.report().hits(Probe::founded_by_those_left_behind) > 0);
  }
}

// A process with the longer log that comes back, and is no majority of those that had it, is given the log of the founded.
TEST_CASE("one that left founds with less of a log than the last ones had, and that is dropped where one of them is back") {
  REQUIRE(log::set_levels("off").ok());
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Plan plan = two_that_found();
    plan.seed = seed;
    plan.nodes.push_back({.host = 2});
    plan.founders.push_back(2);
    plan.subgroups[0].logged = true;
    plan.subgroups[0].members = 0b111;
    plan.disks.resize(3);
    plan.senders = {{.node = 0, .messages = 40}, {.node = 1, .messages = 40}};
    const auto act = [&](Ticks at, Action::Kind kind, std::uint32_t node, std::uint64_t count = 0) {
      plan.actions.push_back({at, kind, node, 0, 0, count, Cut::nothing});
    };
    for (const std::uint32_t node : {0U, 1U, 2U}) {
      act(0, Action::Kind::install, node, views::revivals_since);
      plan.actions.back().other = 17;
    }
    act(1, Action::Kind::start, 2);
    act(10'000'000, Action::Kind::leave, 0);
    act(15'000'000, Action::Kind::send, 1, 10);
    act(20'000'000, Action::Kind::crash, 1);
    act(20'000'000, Action::Kind::crash, 2);
    act(21'000'000, Action::Kind::start, 0);
    act(30'000'000, Action::Kind::found, 0);
    act(40'000'000, Action::Kind::send, 0, 10);
    act(60'000'000, Action::Kind::start, 1);
    plan.faults_end = 80'000'000;
    Fleet fleet(std::move(plan));
    fleet.run();
    CHECK_FALSE(fleet.report().failed());
    CHECK(fleet.report().hits(Probe::founded_by_those_left_behind) > 0);
    CHECK(fleet.report().hits(Probe::log_began_anew) > 0);
  }
}

// When all heals, the others come back in some of these runs: then a majority founds, which nobody has to be told.
TEST_CASE("a founding without a majority that nobody was told, and one that does not come, are found (V30)") {
  REQUIRE(log::set_levels("off").ok());
  bool not_done = false;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CHECK(found_in(Planted::nothing, seed) == "nothing");
    CHECK(found_in(Planted::not_told, seed) == "V30");
    not_done |= found_in(Planted::not_done, seed) == "V30";
  }
  CHECK(not_done);
}

}  // namespace spindrift::sim
