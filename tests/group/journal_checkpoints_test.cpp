// Checkpoints in a node's journal: which of them a process finds, that they are read beside its writer, and which nodes may
// write any.
#include <catch2/catch.hpp>

#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/log_reading.hpp>
#include <spindrift/group/view_journal.hpp>

#include "../store/checkpoint_fixture.hpp"
#include "logs_fixture.hpp"

namespace spindrift::group {
namespace {

constexpr SubgroupId orders(0);
constexpr SubgroupId ticks(2);

NodeJournal::Options with_checkpoints() {
  NodeJournal::Options options = small_journal;
  options.journal.format = store::SegmentFormat::third;
  return options;
}

std::string state_at(std::uint64_t version) { return std::string(20'000, 's') + std::to_string(version); }

/// The position of its first piece.
store::JournalPosition append_checkpoint(NodeJournal& journal, SubgroupId subgroup, std::uint64_t version,
                                         store::CheckpointOf of = store::CheckpointOf::present) {
  const store::JournalPosition first = journal.end();
  for (const auto& piece : store::pieces_of(subgroup, version, state_at(version), 3000, of))
    journal.append(store::piece_head(), piece);
  return first;
}

JournalContent content_of(const JournalHost& host) { return value_or_throw(read_journal(host.place, NodeId(1))).value(); }
std::map<SubgroupId, store::Checkpoint> found(const JournalHost& host) { return content_of(host).checkpoints; }

/// The content once it is so. The journal's thread trims when it has nothing to commit, and tells nobody.
template <class Condition>
JournalContent content_once(const JournalHost& host, const Condition& is_so) {
  for (;;) {
    JournalContent content = content_of(host);
    if (is_so(content)) return content;
    std::this_thread::yield();
  }
}

std::string read(const LogPlace& log, const store::Checkpoint& checkpoint) {
  std::string state;
  value_or_throw(read_checkpoint(log, checkpoint, [&](std::span<const std::byte> piece) {
    state.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return true;
  }));
  return state;
}

/// The format of the segments that a node begins whose layout is that.
store::SegmentFormat format_of(std::string_view layout) {
  const JournalHost host;
  const GuardedDirectory memory = value_or_throw(GuardedDirectory::open(host.place.above + "/memory", "g"));
  const Config config = value_or_throw(Config::parse("[DERECHO]\nlocal_id = 1\n[SPINDRIFT]\nmembers = 0, 1\ngroup_name = g\n"
                                                     "[PERS]\nfile_path = " + host.place.above + "\n",
                                                     "test.cfg"));
  std::vector<SubgroupView> subgroups(2);
  subgroups[0].name = "plain";
  subgroups[0].history = {.messages = 5};
  subgroups[1].name = "orders";
  subgroups[1].storage = SubgroupStorage::logged;
  if (layout == "bounded") subgroups[1].history = {.age_ms = 5};
  NodeMemory opened = value_or_throw(open_node_memory(config, memory, subgroups, [] {}));
  const std::string path = host.place.of(NodeId(1));
  auto files = value_or_throw(store::FileStorage::open_to_read(path));
  const auto format = value_or_throw(store::outline(files, std::nullopt)).back().head.format;
  opened.record->close();
  return format;
}

}  // namespace

TEST_CASE("a process finds the checkpoints in its node's journal that count, and reads them beside the writer") {
  const JournalHost host;
  {
    LoggingNode node(host, 1, with_checkpoints());
    node.append(orders, 20);
    append_checkpoint(node.journal(), orders, 15);
    node.append(orders, 10);
    append_checkpoint(node.journal(), orders, 30);
    append_checkpoint(node.journal(), orders, 40);  // of a log that never came
    append_checkpoint(node.journal(), ticks, 1);
    node.append(ticks, 3);
    node.await([&] { return node.journal().durable() == node.journal().end(); });
    const auto checkpoints = found(host);
    REQUIRE(checkpoints.size() == 1);
    CHECK(checkpoints.at(orders).version == store::LogVersion(30));
    CHECK(read(node.journal().log(orders), checkpoints.at(orders)) == state_at(30));
  }
  CHECK(value_or_throw(read_journal(host.place, NodeId(1)))->logs.size() == 2);
  LoggingNode next(host, 1, with_checkpoints());
  REQUIRE(next.journal().found().checkpoints == found(host));
  CHECK(read(next.journal().log(orders), found(host).at(orders)) == state_at(30));
}

TEST_CASE("a checkpoint that came from another node counts with its log, and lies before it in the journal") {
  const JournalHost host;
  LoggingNode node(host, 1, with_checkpoints());
  node.append(orders, 5);
  append_checkpoint(node.journal(), orders, 50, store::CheckpointOf::coming);
  node.journal().append_base({orders, store::LogVersion(45), ViewId(1), SequenceNumber(0), {}}, 9);
  node.await([&] { return node.journal().durable() == node.journal().end(); });
  const auto checkpoints = found(host);
  REQUIRE(checkpoints.contains(orders));
  CHECK(checkpoints.at(orders).version == store::LogVersion(50));
  CHECK(checkpoints.at(orders).position < node.journal().log(orders).base);
  CHECK(read(node.journal().log(orders), checkpoints.at(orders)) == state_at(50));
}

TEST_CASE("a journal that is trimmed up to a checkpoint has it, and up to behind it cannot read it") {
  const JournalHost host;
  LoggingNode node(host, 1, with_checkpoints());
  const auto store_view = [&](std::uint64_t id) {
    value_or_throw(node.journal().commit(
        {store::EntryKind::view, store::no_subgroup, NodeId(1), ViewId(id), SequenceNumber(0), 1}, {}));
  };
  store_view(1);
  node.append(orders, 100);
  const store::JournalPosition first = append_checkpoint(node.journal(), orders, 90);
  node.append(orders, 100);
  store_view(2);
  node.await_durable(orders);
  const auto before = found(host).at(orders);
  CHECK(before.position == first);
  node.journal().trim(first);
  node.append(orders, 100);
  node.await_durable(orders);
  const auto is_trimmed = [](const JournalContent& each) { return each.findings.first() > store::JournalPosition(0); };
  const JournalContent content = content_once(host, is_trimmed);
  CHECK(content.checkpoints.at(orders) == before);
  CHECK(read(node.journal().log(orders), before) == state_at(90));
  store_view(3);
  node.journal().trim(node.journal().end());
  node.append(orders, 100);
  node.await_durable(orders);
  static_cast<void>(content_once(host, [](const JournalContent& each) { return each.checkpoints.empty(); }));
  const auto gone = read_checkpoint(node.journal().log(orders), before, [](auto) { return true; });
  REQUIRE_FALSE(gone);
  CHECK(gone.error().kind() == ErrorKind::bad_input);
}

TEST_CASE("the segments of a node are of the format with checkpoints where a logged subgroup is bounded, and nowhere else") {
  CHECK(format_of("bounded") == store::SegmentFormat::third);
  CHECK(format_of("unbounded") == store::SegmentFormat::first);
}

}  // namespace spindrift::group
