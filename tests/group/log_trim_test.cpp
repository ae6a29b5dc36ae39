// Logs whose first messages are trimmed away: what is left is whole, at the node, after its start, and at others.
#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/bytes.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/group/log_stream.hpp>
#include <spindrift/group/status.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId bounded(0);
constexpr SubgroupId whole(3);
constexpr std::uint64_t count = 6000;
constexpr HistoryBounds kept{.messages = 1000};

void store_view(NodeJournal& journal, std::uint64_t id) {
  const std::string record = "a record of view " + std::to_string(id);
  value_or_throw(journal.commit({store::EntryKind::view, store::no_subgroup, journal.node(), ViewId(id), SequenceNumber(0),
                                 wall_clock_ns()},
                                std::as_bytes(std::span(record))));
}

std::string view_of(const JournalContent& content) {
  return {reinterpret_cast<const char*>(content.view->data()), content.view->size()};
}

/// Segments that are there, of 1000 that were made.
std::size_t left_of_1000(const JournalHost& host, std::uint32_t node) {
  const auto content = value_or_throw(read_journal(host.place, NodeId(node)));
  const auto& segments = content->findings.segments;
  return segments.size() * 1000 / (segments.back().head.seal.number + 1);
}

/// Asks until the journal has trimmed what the log's history keeps no more.
void trim(LoggingNode& node, SubgroupId subgroup) {
  const std::uint64_t durable = node.logs().end(subgroup).version;
  node.await_durable(subgroup);
  // The record of views that is in the way is written again, and durable, in between.
  for (int i = 0; i < 2; ++i) {
    node.logs().trim(subgroup, kept, durable);
    node.append(subgroup, 700);
    node.await_durable(subgroup);
  }
  node.logs().trim(subgroup, kept, node.logs().end(subgroup).version);
}

std::vector<std::uint64_t> versions(LoggingNode& node, SubgroupId subgroup, std::uint64_t from) {
  std::vector<std::uint64_t> all;
  const auto end = read_log(node.journal().log(subgroup), from, node.logs().end(subgroup).version,
                            [&](const store::Entry& entry) {
                              const std::string text(reinterpret_cast<const char*>(entry.payload.data()),
                                                     entry.payload.size());
                              CHECK(text == LoggingNode::text_of("message", entry.version.value()));
                              all.push_back(entry.version.value());
                              return true;
                            });
  REQUIRE(end);
  CHECK(end->link == node.logs().end(subgroup).link);
  return all;
}

}  // namespace

TEST_CASE("a bounded log loses segments with what its history keeps no more, and nothing else") {
  const JournalHost host;
  views::LogPoint end;
  std::uint64_t first = 0;
  {
    LoggingNode node(host, 1);
    store_view(node.journal(), 8);
    node.append(bounded, count);
    trim(node, bounded);
    first = node.logs().first(bounded);
    end = node.logs().end(bounded);
    CHECK(first > count / 2);
    CHECK(first <= end.version - kept.messages);
    CHECK(versions(node, bounded, first).size() == end.version - first);
  }
  CHECK(left_of_1000(host, 1) < 500);
  CHECK(view_of(*value_or_throw(read_journal(host.place, NodeId(1)))) == "a record of view 8");

  LoggingNode node(host, 1);
  CHECK(node.logs().end(bounded) == end);
  CHECK(node.logs().durable(bounded) == end.version);
  CHECK(node.logs().first(bounded) <= first);
  CHECK(node.logs().first(bounded) > 0);
  CHECK(versions(node, bounded, node.logs().first(bounded)).size() == end.version - node.logs().first(bounded));
}

TEST_CASE("a journal that its owner trims meanwhile can be read") {
  const JournalHost host;
  LoggingNode node(host, 1);
  store_view(node.journal(), 8);
  std::atomic<bool> trims{true};
  std::thread owner([&] {
    for (int i = 0; i < 40; ++i) {
      node.append(bounded, 2 * kept.messages);
      node.await_durable(bounded);
      node.logs().trim(bounded, kept, node.logs().end(bounded).version);
    }
    trims = false;
  });
  std::vector<std::string> failures;
  while (trims) {
    const auto content = read_journal(host.place, NodeId(1));
    if (!content) failures.push_back(content.error().to_string());
  }
  owner.join();
  CHECK(failures == std::vector<std::string>());
  CHECK(node.logs().first(bounded) > 0);
}

TEST_CASE("a log without bounds keeps the segments that it lies in, whatever other logs need") {
  const JournalHost host;
  {
    LoggingNode node(host, 1);
    store_view(node.journal(), 8);
    node.append(bounded, count / 2);
    node.append(whole, 10);
    node.append(bounded, count);
    trim(node, bounded);
    CHECK(node.logs().first(bounded) > count);
    CHECK(versions(node, whole, 0).size() == 10);
  }
  CHECK(left_of_1000(host, 1) > 600);
  CHECK(left_of_1000(host, 1) < 800);  // what lies before it is gone
  LoggingNode node(host, 1);
  CHECK(versions(node, whole, 0).size() == 10);
  CHECK(node.logs().first(whole) == 0);
}

TEST_CASE("a log without bounds is trimmed by command, and what other logs need stays") {
  const JournalHost host;
  LoggingNode node(host, 1);
  store_view(node.journal(), 8);
  node.append(whole, count);
  node.append(bounded, 10);
  node.append(whole, count);
  const auto trim_all = [&](SubgroupId subgroup, std::uint64_t below) {
    node.await_durable(subgroup);
    // A record of views that is in the way is written again, and has to be durable: nothing else comes meanwhile.
    const auto begun = std::chrono::steady_clock::now();
    while (!node.logs().trim_below(subgroup, below))
      REQUIRE(std::chrono::steady_clock::now() - begun < std::chrono::minutes(1));
  };
  trim_all(whole, count / 4);
  {
    const std::shared_ptr<const void> reads = node.journal().log(whole).hold;
    CHECK_FALSE(node.logs().trim_below(whole, count / 2));
  }
  trim_all(whole, count / 2);
  const std::uint64_t first = node.logs().first(whole);
  CHECK(first <= count / 2);
  CHECK(first > count / 4);
  CHECK(versions(node, whole, first).size() == 2 * count - first);
  trim_all(whole, 2 * count);
  CHECK(versions(node, bounded, 0).size() == 10);
  CHECK(node.logs().trim_below(SubgroupId(7), 1));
}

TEST_CASE("nothing is trimmed before the node has a record of views, or while somebody reads") {
  const JournalHost host;
  LoggingNode node(host, 1);
  if (GENERATE(false, true)) store_view(node.journal(), 8);
  std::optional<LogPlace> reader = node.journal().log(bounded);
  node.append(bounded, count);
  trim(node, bounded);
  CHECK(left_of_1000(host, 1) == 1000);
  CHECK(node.logs().first(bounded) > 0);
}

TEST_CASE("a log that lacks what its source has trimmed begins anew where the source begins") {
  const JournalHost host;
  LoggingNode source(host, 1);
  store_view(source.journal(), 8);
  source.append(bounded, count / 2);
  views::LogPoint end;
  std::uint64_t begins = 0;
  {
    LoggingNode copy(host, 2);
    const auto take = [&](std::size_t cut) {
      const auto stream = source.stream(bounded, copy.logs().end(bounded));
      const auto writer = copy.logs().write(bounded);
      writer->write(std::span(stream).first(cut));
      writer->write(std::span(stream).subspan(cut));
      writer->finish();
      REQUIRE(writer->valid());
      return stream.size();
    };
    const bool had_some = GENERATE(false, true);
    if (had_some) take(30);
    source.append(bounded, count);
    trim(source, bounded);
    begins = source.logs().first(bounded);
    REQUIRE(begins > count / 2);
    take(7);
    CHECK(copy.logs().first(bounded) == begins);
    CHECK(copy.logs().durable(bounded) == 0);
    copy.await_durable(bounded);
    end = copy.logs().end(bounded);
    CHECK(end == source.logs().end(bounded));
    CHECK(versions(copy, bounded, begins).front() == begins);
    // From there on it goes on as any log does.
    source.append(bounded, 100);
    CHECK(take(24) < 100 * 200);
    copy.await_durable(bounded);
    end = copy.logs().end(bounded);
    CHECK(end == source.logs().end(bounded));
  }
  LoggingNode copy(host, 2);
  CHECK(copy.logs().first(bounded) == begins);
  CHECK(copy.logs().end(bounded) == end);
  CHECK(versions(copy, bounded, begins).size() == end.version - begins);
}

TEST_CASE("a stream that begins at an impossible version is none") {
  const JournalHost host;
  LoggingNode node(host, 1);
  for (const unsigned shift : {62U, 63U}) {
    const auto writer = node.logs().write(bounded);
    ByteWriter bytes;
    bytes.put((std::uint64_t{1} << shift) + (shift == 62 ? 1 : 0), std::array<std::uint64_t, 2>{1, 2});
    writer->write(bytes.take());
    CHECK_FALSE(writer->valid());
    CHECK(node.logs().end(bounded) == views::LogPoint{});
  }
}

}  // namespace spindrift::group
