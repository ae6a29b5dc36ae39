// Groups that go on without those that have a log: it is taken up when these are back.
#include <catch2/catch.hpp>

#include <spindrift/core/log.hpp>

#include "two_nodes.hpp"
#include "views/fleet.hpp"

namespace spindrift::sim {
namespace {

constexpr Ticks ms = 1'000'000;

/// Five nodes, of which two have the log and end, one after the other, while the others go on.
Plan two_of_five_log() {
  Plan plan = two_that_found();
  for (std::uint32_t i = 2; i < 5; ++i) {
    plan.nodes.push_back({.host = i});
    plan.founders.push_back(i);
    plan.actions.push_back({1 + i, Action::Kind::start, i, 0, 0, 0, Cut::nothing});
  }
  plan.subgroups[0].logged = true;
  plan.subgroups[0].members = 0b11000;
  plan.disks.resize(5);
  plan.senders = {{.node = 3, .messages = 40}, {.node = 4, .messages = 40}};
  plan.suspect_after = 5 * ms;
  plan.faults_end = 200 * ms;
  return plan;
}
void add(Plan& plan, Ticks at, Action::Kind kind, std::uint32_t node) {
  plan.actions.push_back({at, kind, node, 0, 0, 0, Cut::nothing});
}

}  // namespace

TEST_CASE("holders of a log that come back, one after the other or one alone, take it up in the group that has gone on") {
  REQUIRE(log::set_levels("off").ok());
  for (const auto end : {Action::Kind::leave, Action::Kind::crash}) {
    for (const bool both : {true, false}) {
      Plan plan = two_of_five_log();
      add(plan, 20 * ms, end, 3);
      add(plan, 40 * ms, end, 4);
      add(plan, 60 * ms, Action::Kind::start, 4);
      if (both) add(plan, 90 * ms, Action::Kind::start, 3);
      Fleet fleet(plan);
      fleet.run();
      CHECK_FALSE(fleet.report().failed());
      CHECK(fleet.report().hits(Probe::log_taken_up) == 1);
    }
  }
}

TEST_CASE("a holder whose disk was lost is waited for no more than one that is away: the other one takes up the log") {
  REQUIRE(log::set_levels("off").ok());
  Plan plan = two_of_five_log();
  add(plan, 20 * ms, Action::Kind::crash, 3);
  add(plan, 20 * ms, Action::Kind::crash, 4);
  add(plan, 40 * ms, Action::Kind::lose_logs, 4);
  add(plan, 60 * ms, Action::Kind::start, 4);
  add(plan, 90 * ms, Action::Kind::start, 3);
  Fleet fleet(plan);
  fleet.run();
  CHECK_FALSE(fleet.report().failed());
  CHECK(fleet.report().hits(Probe::log_taken_up) == 1);
}

TEST_CASE("a log is adopted that lacks what was reported durable, and a holder that is back with it goes by that one") {
  REQUIRE(log::set_levels("off").ok());
  for (const bool comes_back : {true, false}) {
    Plan plan = two_of_five_log();
    add(plan, 20 * ms, Action::Kind::leave, 3);
    plan.actions.push_back({40 * ms, Action::Kind::send, 4, 0, 0, 10, Cut::nothing});
    add(plan, 70 * ms, Action::Kind::crash, 4);
    if (!comes_back) add(plan, 80 * ms, Action::Kind::lose_logs, 4);
    add(plan, 80 * ms, Action::Kind::start, 3);
    for (const std::uint32_t node : {2U, 4U, 3U}) add(plan, 100 * ms, Action::Kind::adopt, node);
    plan.actions.push_back({120 * ms, Action::Kind::send, 3, 0, 0, 10, Cut::nothing});
    add(plan, 140 * ms, Action::Kind::start, 4);
    Fleet fleet(plan);
    fleet.run();
    CHECK_FALSE(fleet.report().failed());
    CHECK(fleet.report().hits(Probe::log_adopted) == 1);
    CHECK((fleet.report().hits(Probe::log_began_anew) > 0) == comes_back);
  }
}

}  // namespace spindrift::sim
