// Checkpoints in streams of logs: which streams have one, that their states pass through, and that impossible ones come to
// nothing.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_stream.hpp>

#include "heard_stream.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId subgroup(5);
constexpr std::size_t begin_bytes = 24;
constexpr std::uint64_t bit_63 = std::uint64_t{1} << 63U;
constexpr std::uint64_t version_max = std::uint64_t{1} << 62U;
constexpr std::size_t checkpoint_bytes = 32;
constexpr Digest link_a{{1, 2}};
constexpr Digest link_b{{3, 4}};

/// A stream with a checkpoint, and so many messages.
std::vector<std::byte> stream_with(std::uint64_t begin, std::uint64_t at, const std::string& state,
                                   std::uint64_t messages) {
  ByteWriter bytes;
  bytes.put(begin | bit_63, link_a.words, at, link_b.words, std::uint64_t{state.size()});
  bytes.put_bytes(std::as_bytes(std::span(state)));
  for (std::uint64_t i = 0; i < messages; ++i) {
    const std::string payload(i % 3, 'm');
    bytes.put(std::uint64_t{payload.size()}, NodeId(1), ViewId(2), SequenceNumber(i), std::uint64_t{4});
    bytes.put_bytes(std::as_bytes(std::span(payload)));
  }
  return bytes.take();
}

bool hears(std::span<const std::byte> bytes) {
  Heard heard;
  return hear(bytes, heard);
}

/// A log's stream as it would be written for one that ends at `from`, with a checkpoint of such a state.
std::vector<std::byte> written(LoggingNode& node, const views::LogPoint& from, std::uint64_t first,
                               const views::LogPoint& at, const std::string& state) {
  StreamedCheckpoint checkpoint{at, state.size(), [&](const StreamedCheckpoint::Visitor& visit) -> Result<void> {
                                  const auto all = std::as_bytes(std::span(state));
                                  if (visit(all.first(1))) visit(all.subspan(1));
                                  return {};
                                }};
  const StreamedLog log{node.journal().log(subgroup), from, first, node.logs().end(subgroup).version, {},
                        std::move(checkpoint)};
  std::ostringstream to;
  value_or_throw(write_stream(log, {}, to));
  const std::string text = to.str();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("a checkpoint comes with a log that begins anew behind messages that its source lacks, and with no other") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 10);
  const views::LogPoint middle = node.logs().end(subgroup);
  node.append(subgroup, 10);
  node.await_durable(subgroup);
  const auto heard_of = [&](const views::LogPoint& from, std::uint64_t first) {
    Heard heard;
    REQUIRE(hear(written(node, from, first, middle, "the state"), heard));
    return heard;
  };
  for (const views::LogPoint& from : {views::LogPoint{}, views::LogPoint{4, link_a}, views::LogPoint{15, link_a}}) {
    const Heard anew = heard_of(from, 7);
    CHECK(anew.checkpoint == middle);
    CHECK(anew.state == "the state");
    REQUIRE(anew.begin);
    CHECK(anew.begin->version == 7);
    CHECK(anew.messages.size() == 13);
  }
  const Heard on = heard_of(middle, 7);
  CHECK_FALSE(on.checkpoint);
  CHECK(on.begin == middle);
  CHECK_FALSE(heard_of(middle, 10).checkpoint);
  const Heard whole = heard_of({15, link_a}, 0);
  CHECK_FALSE(whole.checkpoint);
  CHECK(whole.messages.size() == 20);
}

TEST_CASE("a checkpoint whose state cannot be read is no stream, and nobody reads one that nobody waits for") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 10);
  node.await_durable(subgroup);
  int pieces = 0;
  bool damaged = false;
  const auto read = [&](const StreamedCheckpoint::Visitor& visit) -> Result<void> {
    while (visit(std::as_bytes(std::span("x", 1))) && pieces < 3) ++pieces;
    if (damaged) return Error(ErrorKind::resource, "the disk is broken");
    return {};
  };
  const StreamedLog log{node.journal().log(subgroup), {}, 7, 10, {}, StreamedCheckpoint{{8, link_a}, 4, read}};
  std::ostringstream to;
  std::stop_source stop;
  SECTION("it cannot be read") {
    damaged = true;
    const auto failed = write_stream(log, stop.get_token(), to);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind() == ErrorKind::resource);
    CHECK(to.str().size() == begin_bytes + checkpoint_bytes + 4);
  }
  SECTION("nobody waits") {
    stop.request_stop();
    const auto failed = write_stream(log, stop.get_token(), to);
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind() == ErrorKind::group_closed);
    CHECK(pieces == 0);
  }
}

TEST_CASE("a stream with a checkpoint that is cut anywhere says the same, and its state passes through") {
  const std::string state(5000, 's');
  for (const std::string& each : {std::string(), std::string("s"), std::string("a state"), state}) {
    const auto stream = stream_with(7, 9, each, 4);
    const auto check = [&](const Heard& heard) {
      REQUIRE(heard.checkpoint == views::LogPoint{9, link_b});
      REQUIRE(heard.state == each);
      REQUIRE(heard.begin == views::LogPoint{7, link_a});
      REQUIRE(heard.messages.size() == 4);
    };
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
      Heard heard;
      REQUIRE(hear(stream, heard, cut));
      check(heard);
    }
    Heard heard;
    LogStream bytewise(LoggingNode::message_bytes_max);
    for (const std::byte& byte : stream) bytewise.take(std::span(&byte, 1), heard);
    bytewise.finish();
    CHECK(bytewise.valid());
    check(heard);
    CHECK(heard.longest_piece == std::min<std::size_t>(each.size(), 1));
  }
}

TEST_CASE("the log begins when all of the state is there, and not before") {
  const std::string state = "a state";
  const auto stream = stream_with(7, 9, state, 2);
  Heard heard;
  LogStream taken(LoggingNode::message_bytes_max);
  const std::size_t all = begin_bytes + checkpoint_bytes + state.size();
  taken.take(std::span(stream).first(begin_bytes + checkpoint_bytes), heard);
  CHECK(heard.checkpoint);
  taken.take(std::span(stream).subspan(begin_bytes + checkpoint_bytes, state.size() - 1), heard);
  CHECK_FALSE(heard.begin);
  taken.take(std::span(stream).subspan(all - 1, 1), heard);
  CHECK(heard.begin);
  Heard empty;
  LogStream other(LoggingNode::message_bytes_max);
  other.take(stream_with(7, 7, "", 0), empty);
  CHECK(empty.begin);
}

TEST_CASE("a checkpoint lies in the log that it comes with") {
  CHECK(hears(stream_with(7, 7, "state", 0)));
  CHECK(hears(stream_with(7, 9, "state", 2)));
  CHECK(hears(stream_with(7, 9, "state", 3)));
  CHECK_FALSE(hears(stream_with(7, 9, "state", 1)));
  CHECK_FALSE(hears(stream_with(7, version_max, "state", 2)));
  CHECK(hears(stream_with(version_max, version_max, "state", 0)));
  const auto refused = [](std::uint64_t begin, std::uint64_t at) {
    Heard heard;
    const bool valid = hear(stream_with(begin, at, "state", 0), heard);
    return !valid && !heard.checkpoint && !heard.begin && heard.state.empty();
  };
  CHECK(refused(7, 6));
  CHECK(refused(7, 0));
  CHECK(refused(7, version_max + 1));
  CHECK(refused(7, ~std::uint64_t{0}));
  CHECK(refused(0, 0));
  CHECK(refused(0, 3));
  CHECK(refused(version_max + 1, version_max + 1));
  CHECK(refused(~bit_63, ~bit_63));
  auto nothing_before = stream_with(0, 0, "state", 0);
  std::fill_n(nothing_before.begin() + 8, 16, std::byte{0});
  CHECK_FALSE(hears(nothing_before));
}

TEST_CASE("a stream that ends within its checkpoint is not valid, and begins no log") {
  const std::string state = "a state";
  const auto stream = stream_with(7, 7, state, 0);
  for (std::size_t size = 0; size < stream.size(); ++size) {
    Heard heard;
    REQUIRE_FALSE(hear(std::span(stream).first(size), heard));
    REQUIRE_FALSE(heard.begin);
  }
  auto longer = stream;
  const std::uint64_t bytes = ~std::uint64_t{0};
  std::memcpy(longer.data() + begin_bytes + checkpoint_bytes - 8, &bytes, sizeof bytes);
  Heard heard;
  CHECK_FALSE(hear(longer, heard));
  CHECK(heard.state == state);
}

TEST_CASE("a stream that its sink refuses says nothing more") {
  struct Refusing final : LogStreamSink {
    explicit Refusing(int at) : left(at) {}
    void say() {
      ++said;
      if (left-- == 0) stream.refuse();
    }
    void on_checkpoint(const views::LogPoint&, std::uint64_t) override { say(); }
    void on_state(std::span<const std::byte>) override { say(); }
    void on_begin(const views::LogPoint&) override { say(); }
    void on_message(const StreamedMessage&) override { say(); }
    int left;
    int said = 0;
    LogStream stream{LoggingNode::message_bytes_max};
  };
  for (const std::string state : {"", "a state"}) {
    const auto stream = stream_with(7, 7, state, 2);
    for (int at = 0; at < (state.empty() ? 4 : 5); ++at) {
      Refusing refusing(at);
      refusing.stream.take(stream, refusing);
      refusing.stream.take(stream, refusing);
      refusing.stream.finish();
      CHECK_FALSE(refusing.stream.valid());
      CHECK(refusing.said == at + 1);
    }
  }
}

}  // namespace spindrift::group
