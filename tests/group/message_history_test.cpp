// The messages that one member keeps: bounds, pieces of memory, and what travels.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/history_stream.hpp>
#include <spindrift/group/message_history.hpp>

using namespace spindrift;
using namespace spindrift::group;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

constexpr Time start = Time(1h);
constexpr std::uint64_t message_bytes_max = 200'000;

/// A text of that many bytes, which no other version has.
std::string text_of(std::uint64_t version, std::size_t bytes) {
  std::string text = std::to_string(version) + ":";
  while (text.size() < bytes) text += static_cast<char>('a' + (version + text.size()) % 26);
  return text.substr(0, bytes);
}

Delivery delivery_of(std::uint64_t version, const std::string& text) {
  return {NodeId(static_cast<std::uint32_t>(version % 3)), SenderRank(static_cast<std::uint32_t>(version % 2)),
          MessageIndex(version / 2), SequenceNumber(3 * version), std::as_bytes(std::span(text)), ViewId(version / 10 + 1)};
}

void append(MessageHistory& history, std::size_t bytes, Time at = start) {
  const std::string text = text_of(history.end(), bytes);
  history.append(delivery_of(history.end(), text), at);
}

/// The versions that a walk gives; each message is compared with what was delivered.
std::vector<std::uint64_t> walked(HistorySnapshot snapshot, std::uint64_t from = 0) {
  std::vector<std::uint64_t> versions;
  HistoryWalk walk(std::move(snapshot), from);
  for (auto batch = walk.next(); !batch.empty(); batch = walk.next()) {
    for (const Delivery& each : batch) {
      const std::string text(reinterpret_cast<const char*>(each.payload.data()), each.payload.size());
      REQUIRE(text == text_of(each.version, text.size()));
      const Delivery wanted = delivery_of(each.version, text);
      REQUIRE(std::tie(each.sender, each.sender_rank, each.index, each.sequence, each.view) ==
              std::tie(wanted.sender, wanted.sender_rank, wanted.index, wanted.sequence, wanted.view));
      versions.push_back(each.version);
    }
  }
  CHECK(walk.done());
  return versions;
}

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> versions;
  for (std::uint64_t version = first; version < end; ++version) versions.push_back(version);
  return versions;
}

std::vector<std::byte> stream_of(const MessageHistory& history, Time now) {
  const auto reader = read_history(history.snapshot(), now);
  std::vector<std::byte> bytes(reader->bytes());
  reader->read(0, bytes);
  return bytes;
}

/// The history that comes of that stream, given in pieces; `now`: of the one that takes it.
MessageHistory taken_of(std::span<const std::byte> stream, const HistoryBounds& bounds, Time now, std::size_t piece = 1000) {
  std::optional<MessageHistory> history;
  HistoryWriter writer({"orders", bounds, message_bytes_max}, now,
                       [&](MessageHistory taken) { history.emplace(std::move(taken)); });
  for (; !stream.empty(); stream = stream.subspan(std::min(piece, stream.size())))
    writer.write(stream.first(std::min(piece, stream.size())));
  writer.finish();
  return std::move(history).value();
}

}  // namespace

TEST_CASE("a history keeps the last messages that its bound on their number allows") {
  const std::uint64_t most = GENERATE(1U, 2U, 7U, 1000U);
  MessageHistory history({.messages = most});
  for (std::uint64_t version = 0; version < 2500; ++version) {
    append(history, version % 200);
    REQUIRE(history.end() == version + 1);
    REQUIRE(history.end() - history.first() == std::min(version + 1, most));
  }
  CHECK(walked(history.snapshot()) == from_to(2500 - most, 2500));
}

TEST_CASE("a history keeps the last messages that its bound on bytes allows, payloads in whole words and heads counted") {
  MessageHistory history({.bytes = 1000});
  append(history, 1);
  CHECK(history.bytes() == 56);
  append(history, 8);
  CHECK(history.bytes() == 112);
  append(history, 0);
  CHECK(history.bytes() == 160);
  append(history, 792);  // 840, and so 1000 with the others
  CHECK(history.first() == 0);
  append(history, 0);
  CHECK(history.first() == 1);
  CHECK(history.bytes() == 992);
  append(history, 952);  // 1000 alone
  CHECK(walked(history.snapshot()) == from_to(5, 6));
  CHECK(history.bytes() == 1000);
}

TEST_CASE("a history drops what is older than its bound on age, with the next message and without one") {
  MessageHistory history({.bytes = 1 << 20, .age_ms = 100});
  append(history, 10, start);
  append(history, 10, start + 60ms);
  history.expire(start + 100ms);
  CHECK(history.first() == 0);
  history.expire(start + 100ms + 1ns);
  CHECK(history.first() == 1);
  append(history, 10, start + 161ms);
  CHECK(walked(history.snapshot()) == from_to(2, 3));
  history.expire(start + 1s);
  CHECK(history.bytes() == 0);
  CHECK(walked(history.snapshot()).empty());
  CHECK(history.first() == 3);
  append(history, 10, start + 2s);
  CHECK(walked(history.snapshot()) == from_to(3, 4));
}

TEST_CASE("each bound of a history holds, whichever is the narrowest") {
  const HistoryBounds bounds{.messages = 4, .bytes = 400, .age_ms = 50};
  MessageHistory history(bounds);
  for (int i = 0; i < 6; ++i) append(history, 8, start);
  CHECK(history.first() == 2);
  append(history, 200, start + 50ms);
  CHECK(history.first() == 4);  // 2 of 56 and one of 248
  CHECK(history.bytes() == 360);
  history.expire(start + 51ms);
  CHECK(history.first() == 6);
}

TEST_CASE("messages of all sizes lie in pieces one behind the other, and come out as they went in") {
  std::mt19937 random(7);
  MessageHistory history({.bytes = 1 << 20});
  std::vector<std::size_t> sizes;
  for (std::uint64_t version = 0; version < 3000; ++version) {
    sizes.push_back(version % 50 == 0 ? 60'000 + random() % 100'000 : random() % 300);
    append(history, sizes.back());
    REQUIRE(history.bytes() <= 1 << 20);
  }
  std::uint64_t first = 3000;
  for (std::uint64_t bytes = 0; first > 0; --first) {
    bytes += HistoryBounds::bytes_of(sizes[first - 1]);
    if (bytes > 1 << 20) break;
  }
  CHECK(history.first() == first);
  CHECK(walked(history.snapshot()) == from_to(first, 3000));
  CHECK(walked(history.snapshot(), first + 17) == from_to(first + 17, 3000));
  CHECK(walked(history.snapshot(), 5000).empty());
}

TEST_CASE("a snapshot has the messages of its moment, whatever becomes of the history") {
  MessageHistory history({.messages = 10});
  for (int i = 0; i < 25; ++i) append(history, 3000);
  const HistorySnapshot before = history.snapshot();
  for (int i = 0; i < 100; ++i) append(history, 3000);
  const HistorySnapshot behind = history.snapshot();
  history.drop();
  CHECK(walked(before) == from_to(15, 25));
  CHECK(walked(behind) == from_to(115, 125));
  CHECK(history.first() == 125);
  CHECK(history.bytes() == 0);
}

TEST_CASE("the memory of a history is no more than its bounds, two pieces and a message") {
  const HistoryBounds by_count{.messages = 10};
  CHECK(by_count.memory_most(100) == 10 * 152 + history_spare_bytes + 152);
  const HistoryBounds by_both{.messages = 10, .bytes = 1000};
  CHECK(by_both.memory_most(100) == 1000 + history_spare_bytes + 152);
  CHECK(HistoryBounds{.age_ms = 5}.memory_most(100) == history_bytes_usual + history_spare_bytes + 152);
  CHECK(HistoryBounds().memory_most(100) == 0);
  MessageHistory history(by_both);
  for (int i = 0; i < 100'000; ++i) {
    append(history, 100);
    REQUIRE(history.snapshot().pieces.size() * history_piece_bytes <= by_both.memory_most(100));
  }
}

TEST_CASE("a history travels in pieces of any size, with its versions, and ages go on") {
  const HistoryBounds bounds{.messages = 300, .bytes = 1 << 20, .age_ms = 1000};
  MessageHistory history(bounds, 77);
  for (unsigned i = 0; i < 500; ++i) append(history, i % 100 == 0 ? 70'000U : 30 + i % 40, start + i * 1ms);
  const auto stream = stream_of(history, start + 700ms);
  for (const std::size_t piece : {1U, 7U, 48U, 32768U, 1U << 30U}) {
    INFO("pieces of " << piece);
    MessageHistory taken = taken_of(stream, bounds, Time(5s), piece);
    CHECK(taken.first() == history.first());
    CHECK(taken.end() == history.end());
    CHECK(taken.bytes() == history.bytes());
    CHECK(walked(taken.snapshot()) == walked(history.snapshot()));
    // The oldest one, the 200th, was delivered 500 ms before the history was saved.
    const auto age = 700ms - 1ms * (history.first() - 77);
    taken.expire(Time(5s) + (1000ms - age));
    CHECK(taken.first() == history.first());
    taken.expire(Time(5s) + (1000ms - age) + 1ns);
    CHECK(taken.first() == history.first() + 1);
  }
  CHECK(stream == stream_of(taken_of(stream, bounds, start + 700ms), start + 700ms));
}

TEST_CASE("an empty history travels, too: its version goes on") {
  MessageHistory history({.messages = 3}, 40);
  history.drop();
  const MessageHistory taken = taken_of(stream_of(history, start), {.messages = 3}, start);
  CHECK(taken.first() == 40);
  CHECK(taken.end() == 40);
}

TEST_CASE("a history that came is within the own bounds, whatever its source has") {
  MessageHistory history({.messages = 100});
  for (int i = 0; i < 100; ++i) append(history, 10);
  CHECK(walked(taken_of(stream_of(history, start), {.messages = 5}, start).snapshot()) == from_to(95, 100));
}

TEST_CASE("a message whose time is as far from its source's as can be is as old as can be") {
  const HistoryBounds bounds{.messages = 3, .age_ms = 1000};
  MessageHistory history(bounds);
  append(history, 10);
  auto stream = stream_of(history, start);
  constexpr std::int64_t far = std::int64_t{1} << 62;
  const std::int64_t long_ago = -far;
  std::memcpy(stream.data() + 16, &far, sizeof far);
  std::memcpy(stream.data() + 24 + 40, &long_ago, sizeof long_ago);
  MessageHistory taken = taken_of(stream, bounds, Time(5s));
  taken.expire(Time(5s));
  CHECK(taken.first() == taken.end());
}

TEST_CASE("bytes that are no history are refused, with what is wrong about them") {
  MessageHistory history({.messages = 100});
  for (int i = 0; i < 3; ++i) append(history, 10);
  const auto stream = stream_of(history, start);
  const auto refusal = [](std::span<const std::byte> bytes) {
    try {
      static_cast<void>(taken_of(bytes, {.messages = 100}, start));
    } catch (const UnloadableState& refused) {
      CHECK(refused.error().kind() == ErrorKind::bad_input);
      CHECK_THAT(refused.error().message(), Contains("subgroup orders"));
      return refused.error().message();
    }
    return std::string("taken");
  };
  REQUIRE(refusal(stream) == "taken");
  for (std::size_t bytes = 0; bytes < stream.size(); ++bytes)
    REQUIRE_THAT(refusal(std::span(stream).first(bytes)), Contains("lacks its end"));
  auto longer = stream;
  longer.resize(longer.size() + 8);
  CHECK_THAT(refusal(longer), Contains("lacks its end"));
  longer.resize(longer.size() + sizeof(HistoryHead));
  CHECK_THAT(refusal(longer), Contains("goes on behind its end"));
  const auto with = [&](std::size_t at, std::uint64_t word) {
    auto bytes = stream;
    std::memcpy(bytes.data() + at, &word, sizeof word);
    return refusal(bytes);
  };
  CHECK_THAT(with(0, 4), Contains("impossible versions"));                        // the first is behind the end
  CHECK_THAT(with(8, std::uint64_t{1} << 63), Contains("impossible versions"));
  CHECK_THAT(with(16, std::uint64_t{1} << 63), Contains("impossible time"));
  CHECK_THAT(with(24, message_bytes_max + 1), Contains("too large"));
  const auto later = static_cast<std::uint64_t>((start + 1ns).time_since_epoch().count());
  CHECK_THAT(with(24 + 40, later), Contains("impossible time"));
}
