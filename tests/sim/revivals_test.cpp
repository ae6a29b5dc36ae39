// The checkers of revivals find what they are for.
#include <catch2/catch.hpp>

#include <spindrift/core/log.hpp>

#include "books.hpp"
#include "two_nodes.hpp"
#include "views/fleet.hpp"

namespace spindrift::sim {
namespace {

// Three that wait, two of which die.
Plan three_that_wait() {
  Plan plan = two_that_found();
  plan.nodes.push_back({.host = 2});
  plan.founders.push_back(2);
  plan.waits = true;
  plan.actions.push_back({1, Action::Kind::start, 2, 0, 0, 0, Cut::nothing});
  for (const std::uint32_t other : {1U, 2U})
    plan.actions.push_back({10'000'000, Action::Kind::crash, other, 0, 0, 0, Cut::nothing});
  plan.faults_end = 100'000'000;
  return plan;
}

std::string found_in(Fleet& fleet) {
  fleet.run();
  return fleet.report().violation() ? fleet.report().violation()->invariant : "nothing";
}

}  // namespace

TEST_CASE("a revival that somebody who was named has not accepted is found (V28)") {
  for (const bool all : {true, false}) {
    Books books;
    books.rows.on_revival(books.view.id);
    for (const std::uint32_t i : {0U, 1U}) {
      books.suspect(i, 0b100);
      books.wedge(i);
      books.step(i);
    }
    books.accept(0, 4, 42, 0b100);
    books.step(0);
    if (all) books.accept(1, 4, 42, 0b100);
    books.step(1);
    books.decide(0);
    books.step(0);
    CHECK(books.found() == (all ? "nothing" : "V28"));
  }
}

TEST_CASE("a ballot of a revival that nobody has asked for is found (V12)") {
  Books books;
  books.suspect(0, 0b110);
  books.accept(0, 4, 42, 0b110);
  books.step(0);
  CHECK(books.found() == "V12");
}

TEST_CASE("a member that waits on when its view is to be revived is found (V29)") {
  REQUIRE(log::set_levels("off").ok());
  for (const bool planted : {false, true}) {
    Fleet deaf(three_that_wait());
    // It hears of no revival: it takes part in a later one.
    deaf.set_meddler([planted](Fleet&, std::uint32_t process, views::Member& member) {
      if (!planted || process != 0 || member.epoch() == nullptr) return;
      member.epoch()->change().mandate().hear({~std::uint64_t{0}, views::RankSet::of(Rank(1))});
      member.epoch()->change().mandate().take_up();
    });
    CHECK(found_in(deaf) == (planted ? "V29" : "nothing"));
  }
}

}  // namespace spindrift::sim
