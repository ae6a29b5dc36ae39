// The bounds of what observers cost: how much is copied for them, how often they say something, and when they sleep.
#include <array>
#include <memory>

#include <catch2/catch.hpp>

#include <spindrift/group/feed_budget.hpp>
#include <spindrift/group/feed_ring.hpp>
#include <spindrift/group/reader_naps.hpp>

#include "observer_watch.hpp"

using namespace spindrift;
using namespace spindrift::group;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t data_bytes = 65536;

struct alignas(64) Memory {
  std::array<std::byte, 4096 + data_bytes> bytes{};
};

/// A feed whose writer may go as far as `limit`, of messages that take 172 bytes each.
struct Ring {
  explicit Ring(std::uint64_t at_most) : limit(at_most) {}

  void write(std::size_t messages) {
    writer.show_limit(limit);
    for (std::size_t i = 0; i < messages; ++i) {
      FeedRecord record;
      record.number = number++;
      writer.append(record, std::vector<std::byte>(100), limit);
    }
    writer.publish({number, {}});
  }
  [[nodiscard]] FeedReader reader() const { return value_or_throw(FeedReader::open(memory->bytes, 0)); }

  std::unique_ptr<Memory> memory = std::make_unique<Memory>();
  FeedWriter writer{memory->bytes};
  std::uint64_t limit;
  std::uint64_t number = 0;
};

}  // namespace

TEST_CASE("a reader that finds much naps, longer each time, and one that finds little asks to be woken") {
  ReaderNaps naps;
  CHECK(naps.next(0) == 0ns);
  naps.on_messages(ReaderNaps::much - 1);
  CHECK(naps.next(0.001) == 0ns);
  Duration last{};
  for (int i = 0; i < 10; ++i) {
    naps.on_messages(ReaderNaps::much);
    const Duration nap = naps.next(0.001);
    CHECK((nap == ReaderNaps::longest || nap > last));
    last = nap;
  }
  CHECK(last == ReaderNaps::longest);
  naps.on_messages(1000);
  CHECK(naps.next(0.5) < last);  // it would be overtaken
  for (int i = 0; i < 10; ++i) {
    naps.on_messages(ReaderNaps::much);
    last = naps.next(0);
  }
  CHECK(last == ReaderNaps::longest_unfed);
  naps.on_messages(ReaderNaps::much);
  CHECK(naps.next(0.001) == ReaderNaps::longest);
  CHECK(naps.next(0) == 0ns);
}

TEST_CASE("a feed is written no more than its share of the rate allows, and a lap after a pause") {
  constexpr std::uint64_t lap = 1'000'000, rate = 8'000'000, shares = 4;
  FeedBudget budget(rate);
  Time now = Time{} + 1h;
  std::uint64_t written = 5'000;
  CHECK(budget.limit(written, lap, shares, now) == written + lap);
  const std::uint64_t first = written;
  std::uint64_t stops = 0;
  for (int i = 0; i < 100'000; ++i, now += 100us) {  // ten seconds of as much as is allowed
    const std::uint64_t limit = budget.limit(written, lap, shares, now);
    REQUIRE(limit >= written);
    if (limit == written) ++stops;
    written = limit;
  }
  const std::uint64_t allowed = 10 * rate / shares + lap;
  CHECK(written - first <= allowed);
  CHECK(written - first > allowed * 9 / 10);
  CHECK(stops > 90'000);  // much at once, and then nothing for a while
  now += 1h;
  CHECK(budget.limit(written, lap, shares, now) == written + lap);
  FeedBudget none(0);
  CHECK(none.limit(7, lap, shares, now) == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("the quickest reader of a feed finds all of the lap that it let the writer write") {
  Ring ring(data_bytes);
  FeedReader reader = ring.reader();
  ring.write(1000);  // more than a lap: the rest is left out
  FeedMessage message;
  for (std::uint64_t i = 0; i < ring.writer.written() / 176; ++i) {
    REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
    REQUIRE(message.record.number == i);
  }
  CHECK(value_or_throw(reader.next(message)) == FeedReader::Found::nothing);
  CHECK(ring.writer.written() > data_bytes - 176);
}

TEST_CASE("a reader says where it is each quarter of a lap, unless a quicker one has said more") {
  Ring ring(data_bytes);
  FeedReader reader = ring.reader();
  FeedMessage message;
  const auto read_all = [&] {
    while (value_or_throw(reader.next(message)) == FeedReader::Found::message) {
    }
  };
  ring.write(80);
  read_all();
  CHECK_FALSE(reader.report_due(0));
  ring.write(30);
  read_all();
  CHECK(reader.report_due(0));
  CHECK_FALSE(reader.report_due(reader.position() - 100));
  ring.limit = reader.position() + data_bytes;
  ring.write(1);
  read_all();
  CHECK_FALSE(reader.report_due(0));
}

TEST_CASE("what a member may not copy for observers they miss, and it is counted, and the group goes on") {
  const GroupFixture fixture;
  auto groups = fixture.join_from(0, 2, "join_timeout_ms = 20000\nobserver_bytes_per_s = 1048576\n");
  auto journals = keep_journals(groups);
  Watch watch(fixture.config(0, 2));
  watch.until_fed();
  const std::string large(5000, 'x');
  constexpr std::size_t messages = 5000;  // 25 MB: three laps, read all the time
  for (std::size_t i = 0; i < messages; ++i) {
    groups[0]->subgroup("orders").send(large);
    watch.observer.poll();
  }
  for (const Journal& journal : journals) journal.await(messages);
  watch.until([&] { return watch.accounted() == messages; });
  CHECK_FALSE(watch.gaps.empty());
  CHECK(watch.gaps.size() < 100);    // few and large
  CHECK(watch.lines.size() > 1000);  // the first lap
  groups[1]->subgroup("orders").send("later");
  watch.until([&] { return watch.accounted() == messages + 1; });
  leave_all(groups);
}
