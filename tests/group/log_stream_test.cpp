// A log as a stream between nodes: the same at both ends, however it is cut, and nothing comes of one that is impossible.
#include <catch2/catch.hpp>

#include <string>
#include <utility>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_stream.hpp>

#include "heard_stream.hpp"
#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId subgroup(5);
constexpr std::size_t begin_bytes = 24;
constexpr std::size_t head_bytes = 36;

/// The messages of a log.
std::vector<std::string> messages(LoggingNode& node) {
  Heard heard;
  REQUIRE(hear(node.stream(subgroup, {}), heard));
  CHECK(heard.begin == views::LogPoint{});
  return heard.messages;
}

/// Takes all of it, in two pieces.
bool take(LoggingNode& node, std::span<const std::byte> stream, std::size_t cut = 0) {
  const auto writer = node.logs().write(subgroup);
  writer->write(stream.first(cut));
  writer->write(stream.subspan(cut));
  writer->finish();
  return writer->valid();
}

/// The end of the second log, when it has what it lacks of the first.
views::LogPoint copied(LoggingNode& from, LoggingNode& to) {
  const auto stream = from.stream(subgroup, to.logs().end(subgroup));
  REQUIRE(take(to, stream, stream.size() / 2));
  to.await_durable(subgroup);
  return to.logs().end(subgroup);
}

std::vector<std::byte> stream_from(const views::LogPoint& begin, std::uint64_t length, std::size_t payload_bytes) {
  ByteWriter bytes;
  bytes.put(begin.version, begin.link.words, length, NodeId(1), ViewId(2), SequenceNumber(3), std::uint64_t{4});
  const std::vector<std::byte> payload(payload_bytes);
  bytes.put_bytes(payload);
  return bytes.take();
}

}  // namespace

TEST_CASE("a log that was copied ends as its source, in whole and in part, and is the same after a start") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 500);
  {
    LoggingNode copy(host, 2);
    CHECK(copied(source, copy) == source.logs().end(subgroup));
    source.append(SubgroupId(1), 50);
    source.append(subgroup, 700);
    CHECK(source.stream(subgroup, copy.logs().end(subgroup)).size() < source.stream(subgroup, {}).size());
    CHECK(copied(source, copy) == source.logs().end(subgroup));
    const views::LogPoint end = copy.logs().end(subgroup);
    CHECK(source.stream(subgroup, end).size() == begin_bytes);  // it lacks nothing
    CHECK(copied(source, copy) == end);
  }
  LoggingNode copy(host, 2);
  CHECK(copy.logs().end(subgroup) == source.logs().end(subgroup));
  CHECK(messages(copy) == messages(source));
}

TEST_CASE("a log that is no beginning of its source's begins anew, and what it had is void") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 100);
  SECTION("other messages") {}
  SECTION("from a version on that lies beyond the first segment") { source.append(subgroup, 900); }
  const std::uint64_t common = source.logs().end(subgroup).version - 50;
  views::LogPoint end;
  {
    LoggingNode copy(host, 2);
    const auto part = source.stream(subgroup, {}, common);
    REQUIRE(take(copy, part));
    copy.append(subgroup, 30, "other");
    copy.await_durable(subgroup);
    CHECK(copied(source, copy) == source.logs().end(subgroup));
    CHECK(messages(copy) == messages(source));
    copy.append(subgroup, 300);
    end = copy.logs().end(subgroup);
  }
  LoggingNode copy(host, 2);
  CHECK(copy.logs().end(subgroup) == end);
  source.append(subgroup, 300);
  CHECK(end == source.logs().end(subgroup));
  CHECK(messages(copy) == messages(source));
}

TEST_CASE("a log that is longer than what is copied begins anew") {
  const JournalHost host;
  LoggingNode source(host, 1);
  LoggingNode copy(host, 2);
  source.append(subgroup, 100);
  copy.append(subgroup, 120);
  CHECK(copied(source, copy) == source.logs().end(subgroup));
  source.append(subgroup, 50);
  copied(source, copy);
  REQUIRE(take(copy, source.stream(subgroup, copy.logs().end(subgroup), 110)));
  CHECK(copy.logs().end(subgroup).version == 110);
  CHECK(copied(source, copy) == source.logs().end(subgroup));
}

TEST_CASE("a log that begins anew is durable from nothing on") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 10);
  const auto stream = source.stream(subgroup, {});
  DiskFaults faults;
  LoggingNode copy(host, 2, small_journal, &faults);
  copy.append(subgroup, 20, "other");
  copy.await_durable(subgroup);
  const auto writer = copy.logs().write(subgroup);
  writer->write(std::span(stream).first(begin_bytes));
  CHECK(copy.logs().end(subgroup) == views::LogPoint{});
  CHECK(copy.logs().durable(subgroup) == 0);
  writer->write(std::span(stream).subspan(begin_bytes));
  CHECK(copy.logs().durable(subgroup) <= 10);
  copy.await_durable(subgroup);
  CHECK(copy.logs().durable(subgroup) == 10);
}

TEST_CASE("a stream that is cut anywhere gives the same log") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 12);
  const auto stream = source.stream(subgroup, {});
  LoggingNode copy(host, 2);
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    REQUIRE(take(copy, stream, cut));
    REQUIRE(copy.logs().end(subgroup) == source.logs().end(subgroup));
  }
  const auto writer = copy.logs().write(subgroup);
  for (const std::byte& each : stream) writer->write(std::span(&each, 1));
  writer->finish();
  CHECK(writer->valid());
  CHECK(copy.logs().end(subgroup) == source.logs().end(subgroup));
}

TEST_CASE("a stream that ends within a message is not valid, and what came before is in the log") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 12);
  const auto stream = source.stream(subgroup, {});
  std::vector<std::size_t> ends{begin_bytes};
  for (std::uint64_t version = 0; version < 12; ++version)
    ends.push_back(ends.back() + head_bytes + LoggingNode::text_of("message", version).size());
  REQUIRE(ends.back() == stream.size());
  LoggingNode copy(host, 2);
  for (std::size_t size = 0; size < stream.size(); ++size) {
    const auto end = std::ranges::upper_bound(ends, size);
    const bool whole = end != ends.begin() && *std::prev(end) == size;
    REQUIRE(take(copy, std::span(stream).first(size)) == whole);
    if (size >= begin_bytes)
      REQUIRE(copy.logs().end(subgroup).version == static_cast<std::uint64_t>(end - ends.begin()) - 1);
  }
  CHECK(copied(source, copy) == source.logs().end(subgroup));
}

TEST_CASE("a stream with any byte of another value does no harm") {
  const JournalHost host;
  LoggingNode source(host, 1);
  source.append(subgroup, 12);
  const auto stream = source.stream(subgroup, {});
  LoggingNode copy(host, 2);
  for (std::size_t at = 0; at < stream.size(); ++at) {
    for (const auto flip : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
      auto flipped = stream;
      flipped[at] ^= flip;
      const bool valid = take(copy, flipped);
      // A log may begin at any version, behind any link, but at 0.
      if (at >= 8 && at < begin_bytes) REQUIRE_FALSE(valid);
      if (at >= 8) REQUIRE(copy.logs().end(subgroup).version <= 12);
      if (at < 8) copied(source, copy);
    }
  }
  CHECK(copied(source, copy) == source.logs().end(subgroup));
  CHECK_FALSE(copy.logs().failure());
}

TEST_CASE("a message that is larger than the subgroup's largest is refused before any of it is kept") {
  const JournalHost host;
  LoggingNode node(host, 1);
  const auto refused = [&](std::uint64_t length) {
    const auto writer = node.logs().write(subgroup);
    writer->write(stream_from({}, length, 0));
    return !writer->valid();
  };
  CHECK(refused(LoggingNode::message_bytes_max + 1));
  CHECK(refused(~std::uint64_t{0}));
  CHECK_FALSE(refused(LoggingNode::message_bytes_max));
  CHECK(node.logs().end(subgroup) == views::LogPoint{});
  CHECK(take(node, stream_from({}, LoggingNode::message_bytes_max, LoggingNode::message_bytes_max)));
  CHECK(node.logs().end(subgroup).version == 1);
}

TEST_CASE("a stream that begins at version 0 behind something is refused, and changes nothing") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 3);
  const views::LogPoint end = node.logs().end(subgroup);
  CHECK_FALSE(take(node, stream_from({0, end.link}, 0, 0)));
  CHECK(node.logs().end(subgroup) == end);
  CHECK(take(node, stream_from(end, 0, 0)));
  CHECK(node.logs().end(subgroup).version == 4);
}

TEST_CASE("a time to come in a stream does not become that of all that follows") {
  const JournalHost host;
  {
    LoggingNode node(host, 1);
    ByteWriter bytes;
    bytes.put(std::uint64_t{0}, Digest{}.words, std::uint64_t{0}, NodeId(1), ViewId(2), SequenceNumber(3));
    bytes.put(~std::uint64_t{0});
    CHECK(take(node, bytes.take()));
  }
  CHECK(value_or_throw(read_journal(host.place, NodeId(1)))->findings.time < ~std::uint64_t{0} / 2);
}

}  // namespace spindrift::group
