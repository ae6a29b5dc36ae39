// The one journal of a node: what is appended is taken, in order, whatever the disk does, and what is committed is there.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/group/view_journal.hpp>

#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId subgroup(5);

views::ViewRecord record_of_view(std::uint64_t id) {
  views::ViewRecord record;
  record.since = 7;
  record.logs_from = 5;
  record.last = views::RecordedView{ViewId(id), {{NodeId(0), 8}, {NodeId(1), 9}}, {1, {{NodeId(0), "a:1"}}, {}}};
  return record;
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

store::EntryHead view_entry() {
  return {store::EntryKind::view, store::no_subgroup, NodeId(1), ViewId(1), SequenceNumber(0), 1};
}

std::uint64_t entries_of(const JournalHost& host, std::uint32_t node) {
  return value_or_throw(read_journal(host.place, NodeId(node)))->findings.end.value();
}

}  // namespace

TEST_CASE("a start of a node sets the first segment aside that its options say, and no more") {
  const JournalHost host;
  LoggingNode node(host, 1, {.journal = journal_options(JournalUse::logs), .thread = {}});
  std::uint64_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(host.place.of(NodeId(1)))) {
    if (file.path().extension() == ".segment") bytes += file.file_size();
  }
  CHECK(bytes == journal_options(JournalUse::logs).first_segment_bytes);
  CHECK(bytes == 256U << 10U);
}

TEST_CASE("where the file knows of a view that the journal lacks the node's logs are those of its next process") {
  const JournalHost host;
  const GuardedDirectory memory = value_or_throw(GuardedDirectory::open(host.place.above + "/memory", "g"));
  const std::string kept = host.place.above + "/kept";
  const auto store_view = [&](std::uint64_t view) {
    LoggingNode node(host, 1, {});
    const auto views = value_or_throw(
        ViewJournal::open(value_or_throw(ViewFile::open(memory, NodeId(1))), node.shared_journal()));
    const views::ViewRecord found = value_or_throw(views->load()).value_or(record_of_view(view));
    value_or_throw(views->store(record_of_view(view)));
    views->close();
    return found;
  };
  static_cast<void>(store_view(1));
  CHECK(store_view(2) == record_of_view(1));
  std::filesystem::copy(host.place.of(NodeId(1)), kept);
  CHECK(store_view(3) == record_of_view(2));
  SECTION("because it was lost") { std::filesystem::remove_all(host.place.of(NodeId(1))); }
  SECTION("because it was put back as it was before") {
    std::filesystem::remove_all(host.place.of(NodeId(1)));
    std::filesystem::rename(kept, host.place.of(NodeId(1)));
  }
  const std::uint64_t before = wall_clock_ns();  // all processes of the node began earlier, be they in its record or not
  const views::ViewRecord found = store_view(4);
  CHECK(found.logs_from >= std::max(before, next_incarnation(record_of_view(3), NodeId(1))));
  CHECK(found.logs_from <= wall_clock_ns());
  views::ViewRecord lost = record_of_view(3);
  lost.logs_from = found.logs_from;
  CHECK(found == lost);
  CHECK(store_view(5) == record_of_view(4));
}

TEST_CASE("a record of views and messages between them are both there when the node is started again") {
  const JournalHost host;
  const GuardedDirectory memory = value_or_throw(GuardedDirectory::open(host.place.above + "/memory", "g"));
  views::LogPoint end;
  {
    LoggingNode node(host, 1, {});
    const auto views = value_or_throw(
        ViewJournal::open(value_or_throw(ViewFile::open(memory, NodeId(1))), node.shared_journal()));
    for (std::uint64_t view = 0; view < 100; ++view) {
      node.append(subgroup, 100);
      value_or_throw(views->store(record_of_view(view)));
      REQUIRE(node.logs().durable(subgroup) == 100 * (view + 1));  // what is committed comes behind it
    }
    end = node.logs().end(subgroup);
    CHECK(end.version == 10'000);
    CHECK(value_or_throw(views->load()) == record_of_view(99));
    views->close();
  }
  CHECK(value_or_throw(ViewJournal::read(host.place, NodeId(1))) == record_of_view(99));
  std::filesystem::remove_all(host.place.above + "/memory");
  const GuardedDirectory fresh = value_or_throw(GuardedDirectory::open(host.place.above + "/memory", "g"));
  {
    LoggingNode node(host, 1, {});
    CHECK(node.logs().end(subgroup) == end);
    const auto views = value_or_throw(
        ViewJournal::open(value_or_throw(ViewFile::open(fresh, NodeId(1))), node.shared_journal()));
    CHECK(value_or_throw(views->load()) == record_of_view(99));
  }
  // The node has no logged subgroup any more: its messages stay.
  auto views = value_or_throw(ViewJournal::open(value_or_throw(ViewFile::open(fresh, NodeId(1))), host.place, NodeId(1)));
  for (std::uint64_t view = 0; view < 600; ++view) value_or_throw(views->store(record_of_view(view)));
  views.reset();
  LoggingNode node(host, 1);
  CHECK(node.logs().end(subgroup) == end);
  CHECK(node.stream(subgroup, {}).size() > 10'000 * 36);
}

TEST_CASE("a record that is stored beside messages is vouched for: damage to it is no torn write") {
  const JournalHost host;
  const GuardedDirectory memory = value_or_throw(GuardedDirectory::open(host.place.above + "/memory", "g"));
  const std::string copied = host.place.above + "/copied";
  {
    LoggingNode node(host, 1, {.journal = {.segment_bytes = 12 * store::block_bytes, .prepared_bytes = 0},
                               .thread = {.vouch_after = std::chrono::hours(1)}});
    const auto views = value_or_throw(
        ViewJournal::open(value_or_throw(ViewFile::open(memory, NodeId(1))), node.shared_journal()));
    value_or_throw(views->store(record_of_view(4)));
    std::filesystem::copy(host.place.of(NodeId(1)), copied);  // as a kill now would leave it
  }
  std::filesystem::remove_all(host.place.of(NodeId(1)));
  std::filesystem::rename(copied, host.place.of(NodeId(1)));
  CHECK(value_or_throw(ViewJournal::read(host.place, NodeId(1))) == record_of_view(4));
  std::fstream segment(host.place.of(NodeId(1)) + "/" + store::segment_name(0),
                       std::ios::in | std::ios::out | std::ios::binary);
  segment.seekp(4 * store::block_bytes + 120);
  segment << "x";
  segment.close();
  const auto opened = FoundJournal::take(host.place, NodeId(1));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind() == ErrorKind::bad_input);
}

TEST_CASE("more than may wait for the disk is taken in order, and there is no room until it has gone on") {
  const JournalHost host;
  DiskFaults faults;
  views::LogPoint end;
  {
    LoggingNode node(host, 1, small_journal, &faults);
    faults.full = true;
    node.append(subgroup, 2000);
    CHECK_FALSE(node.journal().has_room());
    CHECK_FALSE(node.logs().accepts());
    node.await([&] { return node.journal().full(); });
    CHECK(node.logs().durable(subgroup) < 2000);
    CHECK_FALSE(node.logs().failure());
    faults.full = false;
    node.await_durable(subgroup);
    CHECK(node.logs().accepts());
    end = node.logs().end(subgroup);
  }
  LoggingNode node(host, 1);
  CHECK(node.logs().end(subgroup) == end);
}

TEST_CASE("a commit waits for what was appended before it, also if that is more than may wait") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 1000);
  value_or_throw(node.journal().commit(view_entry(), bytes_of("v")));
  CHECK(node.journal().durable() == node.journal().end());
  CHECK(node.logs().durable(subgroup) == 1000);
  value_or_throw(node.journal().close());
  CHECK(entries_of(host, 1) == 1001);
  CHECK(value_or_throw(read_journal(host.place, NodeId(1)))->view == bytes_of("v"));
}

TEST_CASE("a record of views is durable while the disk is full, and an entry of the journal when there is space") {
  const JournalHost host;
  const JournalPlace copied{host.place.above + "/copied", host.place.group};
  DiskFaults faults;
  LoggingNode node(host, 1, small_journal, &faults);
  value_or_throw(node.journal().commit(view_entry(), bytes_of("before")));
  faults.full = true;
  node.append(subgroup, 2000);
  node.await([&] { return node.journal().full(); });
  value_or_throw(node.journal().commit(view_entry(), bytes_of("first")));
  value_or_throw(node.journal().commit(view_entry(), bytes_of("second")));
  const std::uint64_t durable = node.logs().durable(subgroup);
  CHECK(durable < 2000);
  // As a crash leaves it: what waits is gone, and the record is not.
  std::filesystem::create_directories(copied.of_group());
  std::filesystem::copy(host.place.of(NodeId(1)), copied.of(NodeId(1)));
  const JournalContent left = value_or_throw(read_journal(copied, NodeId(1))).value();
  CHECK(left.view == bytes_of("second"));
  for (const char* each : {"before", "first", "second"})
    CHECK(std::ranges::count(left.views, digest_of(std::string_view(each))) == 1);
  CHECK(left.findings.end.value() >= durable);

  faults.full = false;
  node.await([&] { return node.journal().durable() == node.journal().end(); });
  value_or_throw(node.journal().commit(view_entry(), bytes_of("third")));
  value_or_throw(node.journal().close());
  CHECK(value_or_throw(read_journal(host.place, NodeId(1)))->view == bytes_of("third"));
  CHECK(entries_of(host, 1) == 2004);
}

TEST_CASE("a record that the next process has taken over from the reserve counts no more, wherever its journal ends") {
  const JournalHost host;
  {
    DiskFaults faults;
    LoggingNode node(host, 1, small_journal, &faults);
    faults.full = true;
    node.append(subgroup, 2000);
    value_or_throw(node.journal().commit(view_entry(), bytes_of("late")));
    CHECK_FALSE(node.journal().close());
  }
  for (const char* each : {"next", "one more"}) {  // their positions are below that of the first
    const GuardedDirectory memory = value_or_throw(GuardedDirectory::open(host.place.above + "/memory", "g"));
    LoggingNode node(host, 1);
    CHECK(node.journal().end().value() < 2000);
    value_or_throw(node.journal().commit(view_entry(), bytes_of(each)));
    value_or_throw(node.journal().forget_reserved());
    value_or_throw(node.journal().close());
    CHECK(value_or_throw(read_journal(host.place, NodeId(1)))->view == bytes_of(each));
  }
}

TEST_CASE("a commit of more than a reserve takes is an error on a full disk, and so is any on a disk that failed") {
  const JournalHost host;
  DiskFaults faults;
  LoggingNode node(host, 1, small_journal, &faults);
  const std::vector<std::byte> large(store::Reserve::payload_bytes_max + 1);
  faults.full = true;
  const auto full = node.journal().commit(view_entry(), large);
  REQUIRE_FALSE(full);
  CHECK(full.error().kind() == ErrorKind::disk_full);
  faults.full = false;
  node.await([&] { return node.journal().durable() == node.journal().end(); });
  value_or_throw(node.journal().commit(view_entry(), bytes_of("v")));

  faults.failing = true;
  const auto failed = node.journal().commit(view_entry(), bytes_of("w"));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().kind() == ErrorKind::resource);
  REQUIRE(node.logs().failure());
  CHECK(node.logs().failure()->kind() == ErrorKind::resource);
  const auto waited = node.journal().await_durable(node.journal().end(), {});
  REQUIRE_FALSE(waited);
  CHECK(waited.error().kind() == ErrorKind::resource);
  CHECK_FALSE(node.journal().close());
}

TEST_CASE("a journal that is closed while the disk is full says so, and another process has it then") {
  const JournalHost host;
  DiskFaults faults;
  LoggingNode node(host, 1, small_journal, &faults);
  faults.full = true;
  node.append(subgroup, 2000);
  node.await([&] { return node.journal().full(); });
  const auto closed = node.journal().close();
  REQUIRE_FALSE(closed);
  CHECK(closed.error().kind() == ErrorKind::disk_full);
  const std::uint64_t durable = node.logs().durable(subgroup);
  CHECK(durable < 2000);
  LoggingNode next(host, 1);
  CHECK(next.logs().end(subgroup).version >= durable);
}

TEST_CASE("what is appended to a journal that is closed never becomes durable") {
  const JournalHost host;
  LoggingNode node(host, 1);
  node.append(subgroup, 3);
  value_or_throw(node.journal().close());
  CHECK(node.logs().durable(subgroup) == 3);
  node.append(subgroup, 1);
  node.logs().flush();
  CHECK(node.logs().durable(subgroup) == 3);
  const auto committed = node.journal().commit(view_entry(), bytes_of("v"));
  REQUIRE_FALSE(committed);
  CHECK(committed.error().kind() == ErrorKind::group_closed);
  const auto failure = [&](std::uint64_t to) {
    const auto reader = node.logs().read(subgroup, {}, to);
    node.await([&] { return reader->ready(); });
    return reader->failure();
  };
  CHECK(failure(4));
  CHECK_FALSE(failure(3));
  CHECK(LoggingNode(host, 1).logs().end(subgroup).version == 3);
}

TEST_CASE("a thread that waits for the disk is let go when the journal is closed, or when nobody needs it any more") {
  const JournalHost host;
  LoggingNode node(host, 1);
  const auto never = store::JournalPosition(1'000'000);
  std::stop_source stop;
  Result<void> stopped;
  Result<void> closed;
  {
    const std::jthread first([&] { stopped = node.journal().await_durable(never, stop.get_token()); });
    const std::jthread second([&] { closed = node.journal().await_durable(never, {}); });
    stop.request_stop();
    value_or_throw(node.journal().close());
  }
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().kind() == ErrorKind::group_closed);
  REQUIRE_FALSE(closed);
  CHECK(closed.error().kind() == ErrorKind::group_closed);
}

TEST_CASE("a time before that of the entry before becomes that one") {
  const JournalHost host;
  {
    LoggingNode node(host, 1);
    node.journal().append({store::EntryKind::message, subgroup, NodeId(1), ViewId(1), SequenceNumber(0), 9}, {});
    node.journal().append({store::EntryKind::message, subgroup, NodeId(1), ViewId(1), SequenceNumber(1), 3}, {});
  }
  CHECK(value_or_throw(read_journal(host.place, NodeId(1)))->findings.time == 9);
}

}  // namespace spindrift::group
