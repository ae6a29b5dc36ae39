// A member that was away does not judge the silence of others.
#include <catch2/catch.hpp>

#include <spindrift/core/absence.hpp>

using namespace spindrift;
using std::chrono::milliseconds;

namespace {
constexpr Duration patience = milliseconds(100);
constexpr Time at(int ms) { return Time{} + milliseconds(ms); }
}  // namespace

TEST_CASE("the first pass ends no absence, however late it is") {
  Absence absence(patience);
  CHECK_FALSE(absence.away());
  CHECK_FALSE(absence.returned_within(patience));
  absence.on_pass(at(5000));
  CHECK_FALSE(absence.away());
  CHECK_FALSE(absence.returned_within(patience));
  CHECK(absence.pass_before() == at(5000));
}

TEST_CASE("a pass comes out of an absence when more than half of the patience has passed since the one before") {
  Absence absence(patience);
  absence.on_pass(at(0));
  absence.on_pass(at(50));
  CHECK_FALSE(absence.away());
  CHECK(absence.pass_before() == at(0));
  absence.on_pass(at(101));
  CHECK(absence.away());
  CHECK(absence.pass_before() == at(50));
  absence.on_pass(at(102));
  CHECK_FALSE(absence.away());
}

TEST_CASE("the return is remembered for as long as it is asked about") {
  Absence absence(patience);
  absence.on_pass(at(0));
  CHECK_FALSE(absence.returned_within(milliseconds(25)));
  absence.on_pass(at(60));
  CHECK(absence.returned_within(milliseconds(25)));
  absence.on_pass(at(84));
  CHECK(absence.returned_within(milliseconds(25)));
  absence.on_pass(at(85));
  CHECK_FALSE(absence.returned_within(milliseconds(25)));
  absence.on_pass(at(136));  // away again
  CHECK(absence.returned_within(milliseconds(25)));
}

TEST_CASE("without patience nobody's silence is judged, and nobody is ever away") {
  Absence absence(Duration{});
  absence.on_pass(at(0));
  absence.on_pass(at(100'000));
  CHECK_FALSE(absence.away());
  CHECK_FALSE(absence.returned_within(patience));
}
