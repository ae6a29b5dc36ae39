// The logs of a node's subgroups in its journal: their order, versions and links last, and nothing is called durable early.
#include <catch2/catch.hpp>

#include <fstream>
#include <string>
#include <vector>

#include <spindrift/group/status.hpp>
#include <spindrift/store/entry.hpp>
#include <spindrift/store/file_storage.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId first(0);
constexpr SubgroupId second(7);

}  // namespace

TEST_CASE("logs go on where the node's process before has left them") {
  const JournalHost host;
  views::LogPoint ends[2];
  {
    LoggingNode node(host, 1);
    CHECK(node.logs().end(first) == views::LogPoint{});
    CHECK(node.logs().durable(first) == 0);
    for (int i = 0; i < 100; ++i) {
      node.append(first, 2);
      node.append(second, 1);
    }
    ends[0] = node.logs().end(first);
    ends[1] = node.logs().end(second);
  }
  LoggingNode node(host, 1);
  CHECK(ends[0].version == 200);
  CHECK(node.logs().end(first) == ends[0]);
  CHECK(node.logs().durable(first) == 200);
  CHECK(node.logs().end(second) == ends[1]);
  CHECK(node.logs().durable(second) == 100);
  node.append(first, 1);
  CHECK(node.logs().end(first).version == 201);
  CHECK(node.logs().durable(first) == 200);
  node.await_durable(first);

  std::uint64_t next = 0;
  const auto content = value_or_throw(read_journal(host.place, NodeId(1)));
  auto storage = value_or_throw(store::FileStorage::open_to_read(host.place.of(NodeId(1))));
  value_or_throw(store::visit_entries(storage, content->findings, {}, [&](const store::Entry& entry) {
    if (entry.head.subgroup != first) return true;
    CHECK(entry.version == store::LogVersion(next));
    CHECK(entry.head.sequence == SequenceNumber(next));
    CHECK(entry.head.view == ViewId(4));
    const std::string text(reinterpret_cast<const char*>(entry.payload.data()), entry.payload.size());
    CHECK(text == LoggingNode::text_of("message", next++));
    return true;
  }));
  CHECK(next == 201);
}

TEST_CASE("messages have times not before those of what the journal has, whatever the clock says") {
  const JournalHost host;
  const std::uint64_t ahead = wall_clock_ns() + 1'000'000'000'000;
  std::vector<std::uint64_t> times;
  {
    LoggingNode node(host, 1);
    node.append(first, 1);
    times.push_back(node.logs().stamps().of(first, 0).value());
    CHECK(times[0] <= wall_clock_ns());
    node.journal().append({store::EntryKind::message, second, NodeId(0), ViewId(4), SequenceNumber(0), ahead}, {});
    node.append(first, 2);
    times.insert(times.end(), 2, node.logs().stamps().of(first, 2).value());
    CHECK(times[2] == ahead);
    node.await_durable(first);
  }
  std::vector<std::uint64_t> read;
  const auto content = value_or_throw(read_journal(host.place, NodeId(1)));
  auto storage = value_or_throw(store::FileStorage::open_to_read(host.place.of(NodeId(1))));
  value_or_throw(store::visit_entries(storage, content->findings, {}, [&](const store::Entry& entry) {
    if (entry.head.subgroup == first) read.push_back(entry.head.time);
    return true;
  }));
  CHECK(read == times);
}

TEST_CASE("messages are durable when the disk has them, and not before") {
  const JournalHost host;
  DiskFaults faults;
  LoggingNode node(host, 1, small_journal, &faults);
  node.append(first, 5);
  CHECK(node.logs().end(first).version == 5);
  CHECK(node.logs().durable(first) == 0);  // nothing was flushed
  node.await_durable(first);
  faults.failing = true;
  node.append(first, 5);
  node.await([&] { return node.logs().failure().has_value(); });
  CHECK(node.logs().durable(first) == 5);
}

TEST_CASE("a log is read when its messages are on the disk, and a disk that fails is no wait without end") {
  const JournalHost host;
  DiskFaults faults;
  LoggingNode node(host, 1, small_journal, &faults);
  node.append(first, 5);
  node.await_durable(first);
  faults.failing = true;
  node.append(first, 5);
  const auto reader = node.logs().read(first, {}, 10);
  node.await([&] { return reader->ready(); });
  CHECK(reader->failure().value_or("").find("the disk is broken") != std::string::npos);
  CHECK_FALSE(node.stream(first, {}, 5).empty());
}

TEST_CASE("a reader of a full disk fails when the journal is closed, and when the logs are gone") {
  const JournalHost host;
  DiskFaults faults;
  std::unique_ptr<views::StateReader> reader;
  SECTION("closed") {
    LoggingNode node(host, 1, small_journal, &faults);
    faults.full = true;
    node.append(first, 2000);
    reader = node.logs().read(first, {}, 2000);
    node.await([&] { return node.journal().full(); });
    CHECK_FALSE(reader->ready());
    static_cast<void>(node.journal().close());
    node.await([&] { return reader->ready(); });
    CHECK(reader->failure());
  }
  SECTION("gone") {
    LoggingNode node(host, 1, small_journal, &faults);
    faults.full = true;
    node.append(first, 2000);
    reader = node.logs().read(first, {}, 2000);
    static_cast<void>(node.logs().read(first, {}, 2000));  // nobody waits for that one
  }
  REQUIRE(reader->ready());
  CHECK(reader->failure());
}

TEST_CASE("since when a disk is full is known as long as it is") {
  const JournalHost host;
  DiskFaults faults;
  LoggingNode node(host, 1, small_journal, &faults);
  const std::uint64_t before = wall_clock_ms();
  faults.full = true;
  node.append(first, 2000);
  node.await([&] { return node.journal().full_since_ms() != 0; });
  CHECK(node.journal().full());
  CHECK(node.journal().full_since_ms() >= before);
  CHECK(node.journal().full_since_ms() <= wall_clock_ms());
  faults.full = false;
  node.await([&] { return node.logs().durable(first) == 2000 && node.journal().full_since_ms() == 0; });
  CHECK_FALSE(node.journal().full());
}

TEST_CASE("a log that is not as it was written is not read, and says so") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(first, 300);
  node.await_durable(first);
  const auto failure = [&](std::uint64_t to) {
    const auto reader = node.logs().read(first, {}, to);
    node.await([&] { return reader->ready(); });
    return reader->failure().value_or("");
  };
  using Catch::Contains;
  CHECK(failure(300).empty());
  CHECK_THAT(failure(301), Contains("message 300"));
  const std::string path = host.place.of(NodeId(1)) + "/" + store::segment_name(1);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8 * store::block_bytes);
  file << std::string(store::block_bytes, 'x');
  file.close();
  CHECK_THAT(failure(300), Contains("cannot be read"));
  std::filesystem::remove(host.place.of(NodeId(1)) + "/" + store::segment_name(1));
  CHECK_THAT(failure(300), Contains("cannot be read"));
  CHECK(failure(3).empty());
}

}  // namespace spindrift::group
