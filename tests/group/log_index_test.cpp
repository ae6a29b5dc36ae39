// The places at which a log may begin, by the bounds of its history.
#include <catch2/catch.hpp>

#include <spindrift/group/log_index.hpp>

namespace spindrift::group {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;
constexpr std::uint64_t payload_bytes = 1000;
constexpr std::uint64_t counted = HistoryBounds::bytes_of(payload_bytes);

/// Messages of one size, one a second; the message of version v is at position 10 * v.
LogIndex index_of(std::uint64_t messages) {
  LogIndex index(0, store::JournalPosition(0));
  for (std::uint64_t v = 0; v < messages; ++v) index.note(store::JournalPosition(10 * v), payload_bytes, v * second_ns);
  return index;
}

constexpr std::uint64_t spacing = (LogIndex::spacing_least + counted - 1) / counted;  // messages
constexpr std::uint64_t no_limit = ~std::uint64_t{0};

}  // namespace

TEST_CASE("a log begins at the last place behind which there is all that its bounds keep") {
  const std::uint64_t count = 10 * spacing;
  HistoryBounds bounds;
  std::uint64_t now = 0;
  SECTION("messages") { bounds.messages = 5 * spacing; }
  SECTION("bytes") { bounds.bytes = 5 * spacing * counted; }
  SECTION("age") {
    bounds.age_ms = 5 * spacing * 1000;
    now = count * second_ns;
  }
  SECTION("whichever keeps least") {
    bounds.messages = 5 * spacing;
    bounds.bytes = count * counted;
  }
  LogIndex index = index_of(count);
  CHECK(index.first().version == 0);
  REQUIRE(index.trim(bounds, no_limit, now));
  CHECK(index.first().version == 5 * spacing);
  CHECK(index.first().position == store::JournalPosition(50 * spacing));
  CHECK_FALSE(index.trim(bounds, no_limit, now));
}

TEST_CASE("a log keeps what is within its bounds, and what is behind the limit") {
  const std::uint64_t count = 10 * spacing;
  LogIndex index = index_of(count);
  CHECK_FALSE(index.trim({.messages = count}, no_limit, 0));
  CHECK_FALSE(index.trim({.messages = 1}, spacing - 1, 0));
  CHECK_FALSE(index.trim({.age_ms = 1}, no_limit, 0));
  REQUIRE(index.trim({.messages = 1}, 3 * spacing + 1, 0));
  CHECK(index.first().version == 3 * spacing);
  REQUIRE(index.trim({.messages = count - 4 * spacing}, no_limit, 0));
  CHECK(index.first().version == 4 * spacing);
}

TEST_CASE("a log that is trimmed below a version begins at the last place that is not behind it") {
  LogIndex index = index_of(10 * spacing);
  CHECK_FALSE(index.trim_below(spacing - 1));
  REQUIRE(index.trim_below(spacing));
  CHECK(index.first().version == spacing);
  REQUIRE(index.trim_below(4 * spacing - 1));
  CHECK(index.first().version == 3 * spacing);
  CHECK(index.first().position == store::JournalPosition(30 * spacing));
  CHECK_FALSE(index.trim_below(2 * spacing));
  REQUIRE(index.trim_below(no_limit));
  CHECK(index.first().version == 9 * spacing);
}

TEST_CASE("a log of any length has few places, the first one where it was") {
  LogIndex index(7, store::JournalPosition(70));
  const std::uint64_t count = 3000 * spacing;
  for (std::uint64_t v = 7; v < count; ++v) index.note(store::JournalPosition(10 * v), payload_bytes, v * second_ns);
  CHECK(index.first().version == 7);
  CHECK(index.first().position == store::JournalPosition(70));
  // Places are 8 times as far apart by now.
  REQUIRE(index.trim({.messages = count / 2}, no_limit, 0));
  CHECK(index.first().version <= count / 2);
  CHECK(index.first().version + 8 * spacing > count / 2);
  CHECK(index.first().position == store::JournalPosition(10 * index.first().version));
}

}  // namespace spindrift::group
