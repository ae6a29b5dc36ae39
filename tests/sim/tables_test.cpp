// The checkers of program tables find what they are for.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "views/table_checks.hpp"

namespace spindrift::sim {
namespace {

/// Two processes in one view, with one table of three words.
struct Tables {
  Tables() : checks(plan, report) {
    plan.tables.push_back({.words = 3, .rounds = 5});
    for (const std::uint32_t process : {0U, 1U}) {
      checks.on_made(process, 0);
      checks.on_view(process, ViewId(0), {0, 1});
    }
  }
  void read(const std::vector<std::uint64_t>& words) { checks.on_read(1, 0, 0, std::span<const std::uint64_t>(words)); }
  [[nodiscard]] std::string found() const { return report.violation() ? report.violation()->invariant : "nothing"; }

  Plan plan;
  Report report;
  TableChecks checks;
};

}  // namespace

TEST_CASE("a row of two values, one of another owner and one that nobody set are found (T1)") {
  for (const int which : {0, 1, 2, 3}) {
    Tables tables;
    const std::vector<std::uint64_t> first = tables.checks.set_next(0, 0);
    std::vector<std::uint64_t> second = tables.checks.set_next(0, 0);
    const std::vector<std::uint64_t> of_other = tables.checks.set_next(1, 0);
    if (which == 1) second[2] = first[2];
    if (which == 2) second[0] += std::uint64_t{1} << 32;
    tables.read(which == 3 ? of_other : second);
    CHECK(tables.found() == (which == 0 ? "nothing" : "T1"));
  }
  Tables accused;
  accused.checks.on_fault(0, "its words");
  CHECK(accused.found() == "T1");
}

TEST_CASE("a row that goes back, and one that is gone, are found (T2)") {
  for (const bool gone : {false, true}) {
    Tables tables;
    const std::vector<std::uint64_t> first = tables.checks.set_next(0, 0);
    tables.read(first);
    tables.read(tables.checks.set_next(0, 0));
    CHECK(tables.found() == "nothing");
    gone ? tables.checks.on_read(1, 0, 0, std::nullopt) : tables.read(first);
    CHECK(tables.found() == "T2");
  }
}

TEST_CASE("a last word that somebody does not see is found (T3)") {
  Tables tables;
  const std::vector<std::uint64_t> value = tables.checks.set_next(0, 0);
  CHECK(tables.checks.unseen({0, 1}));
  CHECK_FALSE(tables.checks.unseen({0}));
  tables.read(value);
  CHECK_FALSE(tables.checks.unseen({0, 1}));
}

TEST_CASE("a barrier passed without a member, or without what that had set, is found (T4)") {
  Tables tables;
  tables.checks.on_come(0, 0, 1);
  tables.checks.on_pass(0, 0, 1);
  CHECK(tables.found() == "T4");

  for (const bool seen : {true, false}) {
    Tables other;
    const std::vector<std::uint64_t> value = other.checks.set_next(0, 0);
    other.checks.on_come(0, 0, 1);
    other.checks.on_come(1, 0, 1);
    if (seen) other.read(value);
    other.checks.on_pass(1, 0, 1);
    CHECK(other.found() == (seen ? "nothing" : "T4"));
  }

  for (const bool passed : {true, false}) {
    Tables later;
    later.checks.on_come(0, 0, 1);
    later.checks.on_come(1, 0, 1);
    if (passed) later.checks.on_pass(1, 0, 1);
    later.checks.on_view(0, ViewId(1), {0, 1, 2});
    later.checks.on_pass(0, 0, 1);
    CHECK(later.found() == (passed ? "nothing" : "T4"));
  }
}

TEST_CASE("a member that leaves out a round of a barrier is found (T5)") {
  Tables tables;
  tables.checks.on_come(0, 0, 4);
  tables.checks.on_come(0, 0, 5);
  CHECK(tables.found() == "nothing");
  tables.checks.on_come(0, 0, 7);
  CHECK(tables.found() == "T5");

  for (const std::uint64_t begins : {2U, 1U}) {
    Tables newcomer;
    for (const std::uint32_t process : {0U, 1U}) newcomer.checks.on_come(process, 0, 1);
    for (const std::uint32_t process : {0U, 1U}) newcomer.checks.on_pass(process, 0, 1);
    for (const std::uint32_t process : {0U, 1U, 2U}) newcomer.checks.on_view(process, ViewId(1), {0, 1, 2});
    newcomer.checks.on_come(2, 0, begins);
    CHECK(newcomer.found() == (begins == 2 ? "nothing" : "T5"));
  }
}

}  // namespace spindrift::sim
