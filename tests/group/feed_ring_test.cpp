// A feed's ring: what is read is what was written, who is overtaken learns exactly what is missing, and memory that no
// member writes leads to an error.
#include <spindrift/group/feed_cursor.hpp>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

using namespace spindrift;
using namespace spindrift::group;

namespace {

constexpr std::size_t header_bytes = 4096;
constexpr std::size_t data_bytes = 16384;

struct alignas(64) Memory {
  std::array<std::byte, header_bytes + data_bytes> bytes{};
};

/// Bytes that tell which message they are of, wherever one looks.
std::vector<std::byte> payload_of(std::uint64_t number, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>(number * 31 + i);
  return payload;
}

/// As a member does it: places with holes, a new view now and then.
class Member {
 public:
  explicit Member(std::span<std::byte> memory) : writer(memory) {}

  MessagePlace deliver(std::size_t bytes) {
    FeedRecord record;
    if (number % 50 == 49) {
      ++place.view;
      place.sequence = SequenceNumber(0);
    } else {
      place.sequence = SequenceNumber(place.sequence.value() + 1 + number % 3);
    }
    record.view = place.view.value();
    record.sequence = place.sequence.value();
    record.number = number;
    record.previous_view = last.view.value();
    record.previous_sequence = last.sequence.value();
    record.sender = 7;
    writer.append(record, payload_of(number, bytes), limit);
    last = place;
    writer.publish({++number, last});
    return last;
  }

  FeedWriter writer;
  std::uint64_t limit = ~std::uint64_t{0};
  std::uint64_t number = 0;
  MessagePlace place;
  MessagePlace last;
};

bool is_whole(const FeedMessage& message) {
  return message.payload == payload_of(message.record.number, message.payload.size()) && message.record.sender == 7;
}

}  // namespace

TEST_CASE("a reader gets what was written, in order, of any size, lap after lap") {
  const auto memory = std::make_unique<Memory>();
  Member member(memory->bytes);
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
  FeedMessage message;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const std::size_t bytes = i % 601;
    const MessagePlace place = member.deliver(bytes);
    CHECK(reader.behind());
    REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
    REQUIRE(message.record.place() == place);
    REQUIRE(message.payload.size() == bytes);
    REQUIRE(is_whole(message));
    REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::nothing);
    REQUIRE_FALSE(reader.behind());
  }
}

TEST_CASE("a reader that opens later begins with the next message") {
  const auto memory = std::make_unique<Memory>();
  Member member(memory->bytes);
  for (int i = 0; i < 3; ++i) static_cast<void>(member.deliver(100));
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
  FeedMessage message;
  CHECK(value_or_throw(reader.next(message)) == FeedReader::Found::nothing);
  static_cast<void>(member.deliver(5));
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  CHECK(message.record.number == 3);
}

TEST_CASE("whoever is overtaken learns exactly which messages are missing, and loses no more than the ring holds") {
  std::mt19937 random(20261125);  // NOLINT(cert-msc51-cpp): the same each time
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto memory = std::make_unique<Memory>();
    Member member(memory->bytes);
    FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
    FeedCursor cursor(DeliveryMode::ordered, {});
    FeedMessage message;
    std::vector<MessagePlace> places;
    std::size_t at = 0;  // the next one of `places` that is not accounted for
    bool gaps = false;
    const auto read = [&](int most) {
      for (int i = 0; i < most; ++i) {
        const auto found = value_or_throw(reader.next(message));
        if (found == FeedReader::Found::nothing) return;
        if (found == FeedReader::Found::overtaken) continue;
        REQUIRE(is_whole(message));
        const auto verdict = cursor.judge(message.record);
        REQUIRE(verdict != FeedCursor::Verdict::known);
        if (verdict == FeedCursor::Verdict::with_gap) {
          gaps = true;
          const Gap gap = cursor.gap();
          REQUIRE(gap.last.has_value());
          REQUIRE(gap.after == (at == 0 ? std::nullopt : std::optional(places[at - 1])));
          const auto last = std::find(places.begin(), places.end(), *gap.last);
          REQUIRE(last != places.end());
          const auto missing = static_cast<std::size_t>(last - places.begin()) + 1 - at;
          REQUIRE(gap.messages == missing);
          at += missing;
        }
        REQUIRE(message.record.place() == places[at]);
        ++at;
      }
    };
    for (int step = 0; step < 60; ++step) {
      for (auto n = random() % 40; n > 0; --n) places.push_back(member.deliver(random() % 900));
      read(static_cast<int>(random() % 20));
    }
    read(10'000);
    CHECK(at == places.size());
    CHECK(gaps);
  }
}

TEST_CASE("what is left out behind the limit is known at once, and what follows it as well") {
  const auto memory = std::make_unique<Memory>();
  Member member(memory->bytes);
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, 0));
  FeedCursor cursor(DeliveryMode::ordered, {});
  FeedMessage message;
  const MessagePlace first = member.deliver(40);
  member.limit = member.writer.written();
  static_cast<void>(member.deliver(40));
  const MessagePlace second = member.deliver(40);
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  CHECK(cursor.judge(message.record) == FeedCursor::Verdict::next);
  REQUIRE(reader.end());
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::nothing);
  REQUIRE(cursor.on_end(*reader.end()));
  CHECK(cursor.gap() == Gap{first, second, 2});
  CHECK_FALSE(cursor.on_end(*reader.end()));
  const MessagePlace third = member.deliver(40);
  member.limit += 1000;
  static_cast<void>(member.deliver(40));
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  REQUIRE(cursor.judge(message.record) == FeedCursor::Verdict::with_gap);
  CHECK(cursor.gap() == Gap{second, third, 1});
  CHECK_FALSE(cursor.on_end(*reader.end()));
}

TEST_CASE("a message that is too large for the feed is missing, and the gap ends with it") {
  const auto memory = std::make_unique<Memory>();
  Member member(memory->bytes);
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
  FeedCursor cursor(DeliveryMode::ordered, {});
  FeedMessage message;
  const MessagePlace first = member.deliver(10), large = member.deliver(data_bytes / 4), next = member.deliver(10);
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  CHECK(cursor.judge(message.record) == FeedCursor::Verdict::next);
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  CHECK(cursor.judge(message.record) == FeedCursor::Verdict::missing);
  CHECK(cursor.gap() == Gap{first, large, 1});
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  CHECK(cursor.judge(message.record) == FeedCursor::Verdict::next);
  CHECK(message.record.place() == next);
}

TEST_CASE("a feed that the same process goes on with counts on, and what came before is known") {
  const auto memory = std::make_unique<Memory>();
  Member member(memory->bytes);
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
  FeedReader again = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
  FeedCursor cursor(DeliveryMode::unordered, {});
  FeedMessage message;
  static_cast<void>(member.deliver(8));
  REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
  CHECK(cursor.judge(message.record) == FeedCursor::Verdict::next);
  REQUIRE(value_or_throw(again.next(message)) == FeedReader::Found::message);
  CHECK(cursor.judge(message.record) == FeedCursor::Verdict::known);
  for (int i = 0; i < 3; ++i) static_cast<void>(member.deliver(8));
  for (int i = 0; i < 3; ++i) REQUIRE(value_or_throw(again.next(message)) == FeedReader::Found::message);
  REQUIRE(cursor.judge(message.record) == FeedCursor::Verdict::with_gap);
  CHECK(cursor.gap().messages == 2U);
}

TEST_CASE("from one member's feed to another's, each message comes once, and what neither has is a gap") {
  const auto memory = std::make_unique<Memory>(), other_memory = std::make_unique<Memory>();
  Member member(memory->bytes), other(other_memory->bytes);
  FeedMessage message;
  FeedCursor cursor(DeliveryMode::ordered, {});
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, member.writer.written()));
  MessagePlace last;
  for (int i = 0; i < 10; ++i) {
    last = member.deliver(8);
    CHECK(other.deliver(8) == last);
    REQUIRE(value_or_throw(reader.next(message)) == FeedReader::Found::message);
    CHECK(cursor.judge(message.record) == FeedCursor::Verdict::next);
  }
  SECTION("the other is further, and has everything in between") {
    const MessagePlace next = other.deliver(8);
    FeedReader second = value_or_throw(FeedReader::open(other_memory->bytes, other.writer.written()));
    second.rewind();
    cursor.on_feed();
    for (int i = 0; i < 10; ++i) {
      REQUIRE(value_or_throw(second.next(message)) == FeedReader::Found::message);
      CHECK(cursor.judge(message.record) == FeedCursor::Verdict::known);
    }
    REQUIRE(value_or_throw(second.next(message)) == FeedReader::Found::message);
    CHECK(cursor.judge(message.record) == FeedCursor::Verdict::next);
    CHECK(message.record.place() == next);
  }
  SECTION("the other has overwritten some of it") {
    std::vector<MessagePlace> places;
    for (int i = 0; i < 100; ++i) places.push_back(other.deliver(800));
    FeedReader second = value_or_throw(FeedReader::open(other_memory->bytes, other.writer.written()));
    second.rewind();
    cursor.on_feed();
    REQUIRE(value_or_throw(second.next(message)) == FeedReader::Found::message);
    REQUIRE(cursor.judge(message.record) == FeedCursor::Verdict::with_gap);
    CHECK(cursor.gap().after == last);
    const auto at = static_cast<std::size_t>(message.record.number) - 10;
    CHECK(cursor.gap().last == places[at - 1]);
    CHECK_FALSE(cursor.gap().messages);
  }
}

TEST_CASE("in an unordered subgroup nobody knows what is missing between two feeds") {
  FeedCursor cursor(DeliveryMode::unordered, {});
  FeedRecord record;
  record.view = 3;
  CHECK(cursor.judge(record) == FeedCursor::Verdict::next);
  record.number = 1;
  CHECK(cursor.judge(record) == FeedCursor::Verdict::next);
  cursor.on_feed();
  CHECK(cursor.judge(record) == FeedCursor::Verdict::with_gap);
  CHECK(cursor.gap() == Gap{MessagePlace{ViewId(3), {}}, std::nullopt, std::nullopt});
}

TEST_CASE("while one process writes as fast as it can, no reader sees a message that was not written") {
  const auto memory = std::make_unique<Memory>();
  std::atomic<bool> over{false};
  std::thread writing([&] {
    Member member(memory->bytes);
    while (!over.load()) static_cast<void>(member.deliver(member.number * 37 % 700));
  });
  std::vector<std::thread> reading;
  std::atomic<int> torn{0};
  for (int i = 0; i < 2; ++i) {
    reading.emplace_back([&] {
      while (!FeedReader::open(memory->bytes, 0).ok()) std::this_thread::yield();
      FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, 0));
      FeedCursor cursor(DeliveryMode::ordered, {});
      FeedMessage message;
      std::uint64_t expected = 0;
      for (int messages = 0; messages < 20'000;) {
        const auto found = value_or_throw(reader.next(message));
        if (found == FeedReader::Found::nothing) std::this_thread::yield();
        if (found != FeedReader::Found::message) continue;
        const auto verdict = cursor.judge(message.record);
        const std::uint64_t missed = verdict == FeedCursor::Verdict::with_gap ? *cursor.gap().messages : 0;
        if (message.record.number != expected + missed) ++torn;
        if (!is_whole(message)) ++torn;
        expected = message.record.number + 1;
        ++messages;
      }
    });
  }
  for (std::thread& thread : reading) thread.join();
  over = true;
  writing.join();
  CHECK(torn == 0);
}

TEST_CASE("memory that is no feed is refused, and records that no member writes are an error") {
  const auto memory = std::make_unique<Memory>();
  CHECK_FALSE(FeedReader::open(std::span(memory->bytes).first(header_bytes), 0).ok());
  CHECK_FALSE(FeedReader::open(std::span(memory->bytes).first(header_bytes + data_bytes - 8), 0).ok());
  CHECK(FeedReader::open(memory->bytes, 0).error().kind() == ErrorKind::bad_input);  // no magic
  Member member(memory->bytes);
  CHECK(FeedReader::open(memory->bytes, 8).error().kind() == ErrorKind::bad_input);  // behind the end
  FeedReader reader = value_or_throw(FeedReader::open(memory->bytes, 0));
  static_cast<void>(member.deliver(100));
  FeedMessage message;
  const auto lie = [&](std::size_t field, std::uint64_t value) {
    FeedRecord record;
    std::memcpy(&record, memory->bytes.data() + header_bytes, sizeof record);
    const FeedRecord truth = record;
    std::memcpy(memory->bytes.data() + header_bytes + field, &value, sizeof value);
    const auto found = reader.next(message);
    CHECK((!found.ok() && found.error().kind() == ErrorKind::bad_input));
    std::memcpy(memory->bytes.data() + header_bytes, &truth, sizeof truth);
  };
  for (const std::uint64_t bytes : {std::uint64_t{105}, std::uint64_t{data_bytes + 1}, ~std::uint64_t{0}, ~std::uint64_t{7}})
    lie(offsetof(FeedRecord, payload_bytes), bytes);
  lie(offsetof(FeedRecord, omitted), 2);
  CHECK(value_or_throw(reader.next(message)) == FeedReader::Found::message);
}
