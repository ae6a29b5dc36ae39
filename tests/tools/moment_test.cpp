// Times as they are written, and what is none.
#include <catch2/catch.hpp>

#include "moment.hpp"

using namespace spindrift;
using namespace spindrift::tools;
using Catch::Matchers::Contains;

namespace {

constexpr std::uint64_t begin_s = 1'700'000'000;  // 2023-11-14, 22:13:20 UTC
constexpr std::uint64_t ns_per_s = 1'000'000'000;

}  // namespace

TEST_CASE("a time is read in UTC or with an offset, to the nanosecond") {
  for (const char* const text :
       {"2023-11-14T22:13:20Z", "2023-11-14t22:13:20z", "2023-11-14T23:13:20+01:00", "2023-11-14T16:43:20-05:30",
        "2023-11-15T00:13:20.000+02:00", "2023-11-14T22:13:20-00:00"}) {
    INFO(text);
    CHECK(value_or_throw(parse_moment(text)) == begin_s * ns_per_s);
  }
  CHECK(value_or_throw(parse_moment("2023-11-14T22:13:20.5Z")) == begin_s * ns_per_s + ns_per_s / 2);
  CHECK(value_or_throw(parse_moment("2023-11-14T22:13:20.123456789Z")) == begin_s * ns_per_s + 123'456'789);
  CHECK(value_or_throw(parse_moment("1970-01-01T00:00:00Z")) == 0);
  CHECK(value_or_throw(parse_moment("2024-02-29T00:00:00Z")) == 1'709'164'800 * ns_per_s);
  CHECK(value_or_throw(parse_moment("2553-12-31T23:59:59.999999999Z")) == 18'429'292'799 * ns_per_s + 999'999'999);
}

TEST_CASE("what is no time is refused, with what is wrong") {
  const auto wrong = [](const char* text) {
    INFO(text);
    const auto moment = parse_moment(text);
    REQUIRE_FALSE(moment.ok());
    CHECK(moment.error().kind() == ErrorKind::bad_argument);
    return moment.error().message();
  };
  for (const char* const text : {"", "2023", "2023-11-14", "2023-11-14T22:13Z", "23-11-14T22:13:20Z", "2023-11-14T2:13:20Z",
                                 "2023-11-14 22:13:20Z", "+023-11-14T22:13:20Z", "2023/11/14T22:13:20Z", "now"})
    CHECK_THAT(wrong(text), Contains("it does not begin as a time"));
  for (const char* const text :
       {"2023-02-29T00:00:00Z", "2023-13-01T00:00:00Z", "2023-00-01T00:00:00Z", "2023-04-31T00:00:00Z"})
    CHECK_THAT(wrong(text), Contains("no calendar has that day"));
  for (const char* const text : {"2023-11-14T24:00:00Z", "2023-11-14T22:60:20Z", "2023-11-14T23:59:60Z"})
    CHECK_THAT(wrong(text), Contains("no day has that time"));
  for (const char* const text : {"2023-11-14T22:13:20.Z", "2023-11-14T22:13:20.1234567890Z"})
    CHECK_THAT(wrong(text), Contains("one to nine digits"));
  for (const char* const text : {"2023-11-14T22:13:20", "2023-11-14T22:13:20.5", "2023-11-14T22:13:20 Z"})
    CHECK_THAT(wrong(text), Contains("it does not end with Z"));
  for (const char* const text : {"2023-11-14T22:13:20+0100", "2023-11-14T22:13:20+1:00", "2023-11-14T22:13:20+24:00",
                                 "2023-11-14T22:13:20-"})
    CHECK_THAT(wrong(text), Contains("its offset from UTC"));
  CHECK_THAT(wrong("2023-11-14T22:13:20Zulu"), Contains("something follows"));
  CHECK_THAT(wrong("2023-11-14T22:13:20+01:00 "), Contains("something follows"));
  for (const char* const text : {"1969-12-31T23:59:59Z", "1970-01-01T00:00:00+00:01", "2554-01-01T00:00:00Z"})
    CHECK_THAT(wrong(text), Contains("no log has a time before 1970"));
}
