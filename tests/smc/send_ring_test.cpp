// The send ring, one thread at a time: space, order, nulls, wrap-around.
#include <catch2/catch.hpp>

#include <spindrift/smc/multicast.hpp>

#include "ring_fixture.hpp"

using namespace spindrift;
using namespace spindrift::smc;
using Texts = std::vector<std::string>;

TEST_CASE("messages come out as they went in, the empty one included") {
  RingFixture f;
  REQUIRE(f.send("one"));
  REQUIRE(f.send(""));
  REQUIRE(f.send("three and more than eight bytes"));
  CHECK(f.drain() == Texts{"one", "", "three and more than eight bytes"});
}

TEST_CASE("only the committed prefix is collected") {
  RingFixture f;
  const auto first = f.ring.reserve(4);
  const auto second = f.ring.reserve(4);
  REQUIRE((first && second));
  std::memcpy(second->payload.data(), "late", 4);
  f.ring.commit(*second);
  CHECK(f.drain().empty());
  CHECK_FALSE(f.ring.drained());
  std::memcpy(first->payload.data(), "soon", 4);
  f.ring.commit(*first);
  CHECK(f.drain() == Texts{"soon", "late"});
  CHECK(f.ring.drained());
}

TEST_CASE("no more is collected behind the record with which the bytes are reached") {
  RingFixture fixture;
  for (const char* text : {"12345678", "abcdefgh", "ABCDEFGH"}) REQUIRE(fixture.send(text));
  const auto bytes_of = [](const CommittedRanges& ranges) { return ranges.range[0].bytes + ranges.range[1].bytes; };
  CHECK(bytes_of(fixture.ring.collect(10, 0)) == 0);
  CHECK(bytes_of(fixture.ring.collect(10, 1)) == 16);
  CHECK(bytes_of(fixture.ring.collect(1, 1000)) == 16);
  CHECK(fixture.ring.committed_count() == 2);
  CHECK(fixture.ring.has_committed());
  CHECK(bytes_of(fixture.ring.collect(10, 17)) == 16);
  CHECK(fixture.ring.committed_count() == 3);
}

TEST_CASE("where one large message at a time is asked for, none is collected behind it") {
  RingFixture fixture;
  REQUIRE(fixture.send("small"));
  const auto large = fixture.ring.reserve(16);
  REQUIRE(large);
  fixture.ring.commit_as(*large, RecordKind::large, 16);
  REQUIRE(fixture.send("small"));
  static_cast<void>(fixture.ring.collect(10, 1000, true));
  CHECK(fixture.ring.committed_count() == 2);
  static_cast<void>(fixture.ring.collect(10, 1000, true));
  CHECK(fixture.ring.committed_count() == 3);
}

TEST_CASE("what may be published is what room there is for each receiver, and no bound where all map it") {
  Policy policy;
  policy.unsent_bytes_max = 1000;
  policy.unsent_bytes_each = 100;
  CHECK(publish_bytes(policy, {.mirrors = 0, .unsent_bytes = 0}) == ~std::uint64_t{0});
  CHECK(publish_bytes(policy, {.mirrors = 2, .unsent_bytes = 0}) == 500);
  CHECK(publish_bytes(policy, {.mirrors = 4, .unsent_bytes = 999}) == 1);
  CHECK(publish_bytes(policy, {.mirrors = 4, .unsent_bytes = 1000}) == 0);
  CHECK(publish_bytes(policy, {.mirrors = 1, .unsent_bytes = ~std::uint64_t{0}}) == 0);
  CHECK(publish_bytes(policy, {.mirrors = 20, .unsent_bytes = 1000}) == 50);
  CHECK(publish_bytes(policy, {.mirrors = 2, .unsent_bytes = 1000, .buffered_bytes = 600}) == 300);
  CHECK(publish_bytes(policy, {.mirrors = 2, .unsent_bytes = 1600, .buffered_bytes = 600}) == 0);
}

TEST_CASE("the window counts messages") {
  RingFixture f(4096, 3, 64);
  CHECK((f.send("a") && f.send("b") && f.send("c")));
  CHECK_FALSE(f.send("d"));
  f.drain();
  CHECK_FALSE(f.send("d"));
  CHECK(f.ring.release(1));
  CHECK(f.send("d"));
  CHECK_FALSE(f.send("e"));
}

TEST_CASE("the window counts bytes, padding included") {
  RingFixture f(128, 64, 48);
  CHECK(f.send(std::string(48, 'a')));        // bytes 0–55
  CHECK(f.send(std::string(48, 'b')));        // 56–111
  CHECK_FALSE(f.send(std::string(16, 'c')));  // 24 do not fit into the last 16, and the start is in use
  f.drain();
  REQUIRE(f.ring.release(1));
  CHECK(f.send(std::string(16, 'c')));  // behind 16 bytes of padding, at the start
  CHECK(f.drain() == Texts{std::string(16, 'c')});
}

TEST_CASE("the largest message always fits into an empty ring, wherever the ring stands") {
  for (std::uint64_t before = 0; before <= 48; before += 8) {
    RingFixture f(128, 64, 56);
    std::uint64_t sent = 0;
    for (int round = 0; round < 40; ++round) {
      REQUIRE(f.send(std::string(before, 'x')));
      REQUIRE(f.drain().size() == 1);
      REQUIRE(f.ring.release(++sent));
      REQUIRE(f.send(std::string(56, 'y')));
      REQUIRE(f.drain() == Texts{std::string(56, 'y')});
      REQUIRE(f.ring.release(++sent));
    }
  }
}

TEST_CASE("what is collected is named by exact ranges, two when the ring wraps") {
  RingFixture f(128, 64, 48);
  REQUIRE(f.send(std::string(40, 'a')));  // 0–47
  REQUIRE(f.send(std::string(40, 'b')));  // 48–95
  const auto first = f.ring.collect(64);
  CHECK(first.range[0].offset == 0);
  CHECK(first.range[0].bytes == 96);
  CHECK(first.range[1].bytes == 0);
  REQUIRE(f.ring.release(2));
  REQUIRE(f.send(std::string(40, 'c')));  // 32 bytes of padding at 96, then 0–47
  const auto second = f.ring.collect(64);
  CHECK(second.range[0].offset == 96);
  CHECK(second.range[0].bytes == 8);
  CHECK(second.range[1].offset == 0);
  CHECK(second.range[1].bytes == 48);
}

TEST_CASE("a range that ends exactly at the ring's end goes on at its start") {
  RingFixture f(128, 64, 56);
  REQUIRE(f.send(std::string(56, 'a')));
  static_cast<void>(f.ring.collect(64));
  REQUIRE(f.ring.release(1));
  REQUIRE(f.send(std::string(56, 'b')));  // 64–127
  REQUIRE(f.send(std::string(8, 'c')));   // 0–15
  const auto ranges = f.ring.collect(64);
  CHECK(ranges.range[0].offset == 64);
  CHECK(ranges.range[0].bytes == 64);
  CHECK(ranges.range[1].offset == 0);
  CHECK(ranges.range[1].bytes == 16);
}

TEST_CASE("a run of nulls is one record and counts as many messages") {
  RingFixture f;
  REQUIRE(f.send("a"));
  CHECK(f.ring.queue_nulls(4));
  CHECK(f.ring.reserved_count() == 4);
  REQUIRE(f.send("b"));
  CHECK(f.drain() == Texts{"a", "-", "-", "-", "b"});
  CHECK(f.ring.null_runs() == 1);
}

TEST_CASE("nulls behind the last message do not count as sent") {
  RingFixture f;
  CHECK(f.ring.sent_count() == 0);
  CHECK(f.ring.queue_nulls(3));
  CHECK(f.ring.sent_count() == 0);
  REQUIRE(f.send("a"));
  CHECK(f.ring.sent_count() == 4);
  CHECK(f.ring.queue_nulls(6));
  CHECK(f.ring.queue_nulls(9));
  CHECK(f.ring.reserved_count() == 9);
  CHECK(f.ring.sent_count() == 4);
  CHECK(f.drain().size() == 9);
  CHECK(f.ring.sent_count() == 4);
  f.ring.release(7);  // one of two runs, and a part of the other
  CHECK(f.ring.sent_count() <= 6);
  REQUIRE(f.send("b"));
  CHECK(f.ring.sent_count() == 10);
}

TEST_CASE("reserved messages pay what is owed before nulls do") {
  RingFixture f;
  const auto held = f.ring.reserve(1);
  REQUIRE(held);
  CHECK(f.ring.queue_nulls(1));
  CHECK(f.ring.null_runs() == 0);
  CHECK(f.ring.queue_nulls(3));
  f.ring.commit(*held);
  CHECK(f.drain().size() == 3);
}

TEST_CASE("a null run waits when there is no space, and is never lost") {
  RingFixture f(4096, 2, 64);
  REQUIRE((f.send("a") && f.send("b")));
  CHECK_FALSE(f.ring.queue_nulls(5));
  f.drain();
  REQUIRE(f.ring.release(2));
  CHECK(f.ring.queue_nulls(5));
  CHECK(f.drain() == Texts{"-", "-", "-"});
}

TEST_CASE("space of a null run is given back when all of it was delivered") {
  RingFixture f(4096, 2, 64);
  REQUIRE(f.ring.queue_nulls(3));
  REQUIRE(f.send("a"));
  f.drain();
  CHECK_FALSE(f.ring.release(1));
  CHECK_FALSE(f.ring.release(2));
  CHECK_FALSE(f.send("b"));
  CHECK(f.ring.release(3));
  CHECK(f.send("b"));
  CHECK_FALSE(f.send("c"));
  f.drain();
  CHECK(f.ring.release(4));
  CHECK(f.send("c"));
}

TEST_CASE("an abandoned reservation travels as a null") {
  RingFixture f;
  const auto given_up = f.ring.reserve(24);
  REQUIRE(given_up);
  REQUIRE(f.send("kept"));
  f.ring.abandon(*given_up);
  CHECK(f.drain() == Texts{"-", "kept"});
}

TEST_CASE("many laps of mixed sizes and nulls keep every message and give back every byte") {
  RingFixture f(512, 6, 200);
  std::uint64_t state = 1;
  Texts expected, seen;
  for (int step = 0; step < 20'000; ++step) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t choice = state >> 60;
    if (choice < 10) {
      const std::string text(state >> 40 & 127, static_cast<char>('a' + step % 26));
      if (f.send(text)) expected.push_back(text);
    } else if (choice < 12) {
      const std::uint64_t run = 1 + (state >> 50 & 3);
      if (f.ring.queue_nulls(f.ring.reserved_count() + run)) expected.insert(expected.end(), run, "-");
    } else {
      for (std::string& text : f.drain()) seen.push_back(std::move(text));
      const std::uint64_t committed = f.ring.committed_count();
      f.ring.release(committed - std::min<std::uint64_t>(committed, state >> 56 & 1));
    }
  }
  for (std::string& text : f.drain()) seen.push_back(std::move(text));
  CHECK(seen == expected);
  f.ring.release(f.ring.committed_count());
  for (int i = 0; i < 6; ++i) CHECK(f.send(""));
}

TEST_CASE("the bytes behind the first messages are what the ring holds from there on") {
  RingFixture f;
  for (const char* text : {"12345678", "a", "ABCDEFGH"}) REQUIRE(f.send(text));
  CHECK(f.ring.bytes_behind(0) == 0);  // nothing is collected
  static_cast<void>(f.ring.collect(10));
  CHECK(f.ring.bytes_behind(0) == 48);
  CHECK(f.ring.bytes_behind(1) == 32);
  CHECK(f.ring.bytes_behind(3) == 0);
  REQUIRE(f.ring.release(1));
  CHECK(f.ring.bytes_behind(0) == 32);
  CHECK(f.ring.bytes_behind(1) == 32);
  CHECK(f.ring.bytes_behind(2) == 16);
  REQUIRE(f.ring.release(3));
  CHECK(f.ring.bytes_behind(3) == 0);
}

TEST_CASE("a null run that a count ends in is still held") {
  RingFixture f;
  REQUIRE(f.send("12345678"));
  REQUIRE(f.ring.queue_nulls(5));  // indices 1 to 4
  REQUIRE(f.send("ABCDEFGH"));
  static_cast<void>(f.ring.collect(10));
  CHECK(f.ring.messages_collected() == 2);
  CHECK(f.ring.bytes_behind(1) == 24);
  CHECK(f.ring.bytes_behind(3) == 24);
  CHECK(f.ring.bytes_behind(5) == 16);
  CHECK(f.ring.bytes_behind(6) == 0);
}

TEST_CASE("the bytes behind a count have the padding at the end of the ring among them, round after round") {
  RingFixture f(256, 8, 64);
  std::uint64_t count = 0;
  for (int round = 0; round < 100; ++round) {
    REQUIRE(f.send(std::string(40, 'x')));
    REQUIRE(f.send(std::string(static_cast<std::size_t>(round % 30), 'y')));
    static_cast<void>(f.ring.collect(10));
    const std::uint64_t held = f.ring.bytes_behind(count);
    CHECK(held >= 48 + 8);
    CHECK(held <= 256);
    CHECK(f.ring.bytes_behind(count + 2) == 0);
    count += 2;
    REQUIRE(f.ring.release(count));
  }
}

TEST_CASE("the next message is one that is committed, and neither a null run nor given up") {
  RingFixture f;
  CHECK_FALSE(f.ring.next_message());
  const auto first = f.ring.reserve(8);
  REQUIRE(f.send("second"));
  CHECK_FALSE(f.ring.next_message());
  f.ring.abandon(*first);
  CHECK_FALSE(f.ring.next_message());
  static_cast<void>(f.ring.collect(1));
  CHECK(f.ring.next_message() == 1U);
  static_cast<void>(f.ring.collect(1));
  REQUIRE(f.ring.queue_nulls(5));
  CHECK_FALSE(f.ring.next_message());
  static_cast<void>(f.ring.collect(1));
  REQUIRE(f.send("after nulls"));
  CHECK(f.ring.next_message() == 5U);
}

TEST_CASE("the next message is found at the ring's beginning when it did not fit before the end") {
  RingFixture f(256, 8, 64);
  for (int i = 0; i < 3; ++i) REQUIRE(f.send(std::string(56, 'x')));
  static_cast<void>(f.ring.collect(3));
  REQUIRE(f.ring.release(3));
  REQUIRE(f.send(std::string(64, 'y')));
  CHECK(f.ring.next_message() == 3U);
}
