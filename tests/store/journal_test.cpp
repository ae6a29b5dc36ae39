// A journal as its node's processes have it, one after the other: what was committed is read again, as long as nothing is
// damaged.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <spindrift/store/segment_file.hpp>

#include "journal_fixture.hpp"
#include "simulated_disk.hpp"

namespace spindrift::store {
namespace {

using sim::SimulatedDisk;

TEST_CASE("entries that were committed are read again, in order, by the next process") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 10));
  CHECK(journal.end() == JournalPosition(0));
  value_or_throw(commit_texts(journal, {"a", "b"}));
  value_or_throw(commit_texts(journal, {"c"}));
  CHECK(journal.durable() == JournalPosition(3));
  disk.crash(sim::everything_lost);
  const auto later = disk.storage();
  CHECK(texts_of(*later) == "a b c");
  Journal next = value_or_throw(open_journal(*later, 11));
  CHECK(next.end() == JournalPosition(3));
  value_or_throw(commit_texts(next, {"d"}));
  CHECK(texts_of(*later) == "a b c d");
}

TEST_CASE("entries that were appended and not committed are in no journal") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 10));
  Batch batch;
  append_text(batch, "a");
  CHECK(texts_of(*storage).empty());
  value_or_throw(journal.commit(batch));
  CHECK(batch.empty());
  CHECK(texts_of(*storage) == "a");
}

TEST_CASE("a journal goes on over many segments, of which each process begins one") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  std::string expected;
  for (std::uint64_t process = 1; process <= 3; ++process) {
    Journal journal = value_or_throw(open_journal(*storage, process));
    for (int i = 0; i < 20; ++i) {
      const std::string text(1000, static_cast<char>('a' + i));
      value_or_throw(commit_texts(journal, {text}));
      expected += (expected.empty() ? "" : " ") + text;
    }
  }
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.damages.empty());
  CHECK(findings.segments.size() == 11);  // eight blocks for entries in the first, and six in each other one
  CHECK(findings.end == JournalPosition(60));
  CHECK(texts_of(*storage) == expected);
  for (std::size_t i = 0; i < findings.segments.size(); ++i) CHECK(findings.segments[i].head.seal.number == i);
}

TEST_CASE("an entry that is larger than a segment has one of its own") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const std::string large(40 * block_bytes + 17, 'x');
  value_or_throw(commit_texts(journal, {"a"}));
  value_or_throw(commit_texts(journal, {large}));
  value_or_throw(commit_texts(journal, {"b"}));
  CHECK(texts_of(*storage) == "a " + large + " b");
}

TEST_CASE("each subgroup has a log of its own, whose versions go on over segments and processes") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  for (std::uint64_t process = 1; process <= 2; ++process) {
    Journal journal = value_or_throw(open_journal(*storage, process));
    Batch batch;
    for (int i = 0; i < 30; ++i) {
      append_text(batch, std::string(400, 'x'), SubgroupId(static_cast<std::uint32_t>(i % 3)));
      value_or_throw(journal.commit(batch));
    }
  }
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  REQUIRE(findings.ends.all().size() == 3);
  for (const LogEnd& end : findings.ends.all()) CHECK(end.version == LogVersion(20));
  std::vector<std::uint64_t> next(3);
  for (const ReadEntry& entry : read_entries(*storage, findings))
    CHECK(entry.version == next[entry.head.subgroup.value()]++);
}

TEST_CASE("logs of the same entries have the same links, wherever these lie in their journals") {
  SimulatedDisk here(1);
  SimulatedDisk there(2);
  const auto one = here.storage();
  const auto other = there.storage();
  Journal first = value_or_throw(open_journal(*one, 1));
  Journal second = value_or_throw(open_journal(*other, 99));
  Batch batch;
  append_text(batch, "of another subgroup", SubgroupId(7));
  value_or_throw(second.commit(batch));
  for (Journal* const journal : {&first, &second}) {
    append_text(batch, "a", SubgroupId(2));
    append_text(batch, "b", SubgroupId(2));
    value_or_throw(journal->commit(batch));
  }
  CHECK(first.ends().of(SubgroupId(2)) == second.ends().of(SubgroupId(2)));
  append_text(batch, "c", SubgroupId(2));
  value_or_throw(second.commit(batch));
  CHECK_FALSE(first.ends().of(SubgroupId(2)).link == second.ends().of(SubgroupId(2)).link);
}

TEST_CASE("behind a base a log goes on from a version that it was told, as at the member that told it") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  const LogEnd told{SubgroupId(0), LogVersion(500), ViewId(9), SequenceNumber(3), digest_of("theirs")};
  Journal journal = value_or_throw(open_journal(*storage, 1));
  value_or_throw(commit_texts(journal, {"void"}));
  Batch batch;
  batch.append_base(told, 8);
  append_text(batch, "a");
  value_or_throw(journal.commit(batch));
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.damages.empty());
  CHECK(findings.ends.of(SubgroupId(0)).version == LogVersion(501));
  const auto entries = read_entries(*storage, findings);
  REQUIRE(entries.size() == 3);
  CHECK(entries[1].head.kind == EntryKind::base);
  CHECK(entries[2].version == 500);
}

TEST_CASE("a trim takes the segments before a position, and what is behind it stays") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const std::string text(3 * block_bytes, 'x');
  for (int i = 0; i < 10; ++i) value_or_throw(commit_texts(journal, {text}));
  const std::uint64_t all = value_or_throw(storage->names()).size();
  value_or_throw(journal.trim(JournalPosition(5)));
  CHECK(journal.first() <= JournalPosition(5));
  CHECK(value_or_throw(storage->names()).size() < all);
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.damages.empty());
  CHECK(findings.first() == journal.first());
  CHECK(read_entries(*storage, findings, JournalPosition(5)).size() == 5);
  value_or_throw(journal.trim(JournalPosition(10)));
  CHECK(journal.first() <= JournalPosition(10));
  Journal next = value_or_throw(open_journal(*storage, 2));
  CHECK(next.end() == JournalPosition(10));
  CHECK(next.ends().of(SubgroupId(0)).version == LogVersion(10));
}

TEST_CASE("segments that were trimmed away and are there again count for nothing, and go") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const std::string text(3 * block_bytes, 'x');
  for (int i = 0; i < 10; ++i) value_or_throw(commit_texts(journal, {text}));
  disk.fail_next(SimulatedDisk::Operation::sync_names);
  CHECK_FALSE(journal.trim(JournalPosition(8)));
  disk.crash(sim::everything_lost);
  const auto later = disk.storage();
  const JournalFindings findings = value_or_throw(examine(*later, test_owner));
  CHECK(findings.damages.empty());
  CHECK_FALSE(findings.leftovers.empty());
  const std::size_t before = value_or_throw(later->names()).size();
  Journal next = value_or_throw(open_journal(*later, 2));
  CHECK(value_or_throw(later->names()).size() == before - findings.leftovers.size() + 1);
}

TEST_CASE("files beside a journal that it does not make are left alone") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  value_or_throw(storage->create("orders.dump", block_bytes));
  value_or_throw(storage->create("next.segment", block_bytes));
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.foreign == std::vector<std::string>{"orders.dump"});
  CHECK(findings.leftovers == std::vector<std::string>{"next.segment"});
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const auto names = value_or_throw(storage->names());
  CHECK(std::ranges::find(names, "orders.dump") != names.end());
  CHECK(std::ranges::find(names, "next.segment") == names.end());
}

TEST_CASE("a crash that tears both marks does not call back segments that were trimmed away") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const std::string text(3 * block_bytes, 'x');
  for (int i = 0; i < 6; ++i) value_or_throw(commit_texts(journal, {text}));
  value_or_throw(journal.trim(JournalPosition(4)));
  for (int i = 0; i < 4; ++i) value_or_throw(journal.vouch());
  disk.crash(sim::CrashChoice{.there_in_100 = 100, .torn_in_100 = 100, .garbage_in_100 = 100});
  CHECK(value_or_throw(examine(*disk.storage(), test_owner)).loss() == nullptr);
}

TEST_CASE("entries that the next process finds are durable before its segment vouches for them") {
  SimulatedDisk first(1);
  const auto storage = first.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  value_or_throw(commit_texts(journal, {"a"}));
  value_or_throw(commit_texts(journal, {"b"}));
  // The process was killed in its last write, whose bytes are seen already, and not on the disk.
  std::vector<sim::DiskStep> steps(first.steps().begin(), first.steps().end());
  REQUIRE(steps.back().kind == sim::DiskStep::Kind::write_durably);
  steps.back().kind = sim::DiskStep::Kind::write;
  SimulatedDisk disk = SimulatedDisk::replay(steps);
  const auto later = disk.storage();
  CHECK(texts_of(*later) == "a b");
  Journal next = value_or_throw(open_journal(*later, 2));
  value_or_throw(commit_texts(next, {"c"}));
  disk.crash(sim::everything_lost);
  CHECK(value_or_throw(examine(*disk.storage(), test_owner)).damages.empty());
  CHECK(texts_of(*disk.storage()) == "a b c");
}

TEST_CASE("a write that fails ends the journal, which says so with the same error from then on") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  value_or_throw(commit_texts(journal, {"a"}));
  disk.fail_next(SimulatedDisk::Operation::write);
  const auto failed = commit_texts(journal, {"b"});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().kind() == ErrorKind::resource);
  const auto again = commit_texts(journal, {"c"});
  REQUIRE_FALSE(again);
  CHECK(again.error().to_string() == failed.error().to_string());
  CHECK(journal.durable() == JournalPosition(1));
  for (const Result<void>& later : {journal.vouch(), journal.trim(JournalPosition(0)), journal.close()}) CHECK_FALSE(later);
  CHECK_FALSE(journal.prepare());
}

TEST_CASE("a sync that fails where a segment begins ends the journal, and nothing is written behind it") {
  for (const auto operation : {SimulatedDisk::Operation::sync, SimulatedDisk::Operation::sync_names,
                               SimulatedDisk::Operation::rename, SimulatedDisk::Operation::create}) {
    SimulatedDisk disk(1);
    const auto storage = disk.storage();
    Journal journal = value_or_throw(open_journal(*storage, 1));
    const std::string text(5 * block_bytes, 'x');
    value_or_throw(commit_texts(journal, {text}));
    disk.fail_next(operation);
    CHECK_FALSE(commit_texts(journal, {text}));
    CHECK_FALSE(commit_texts(journal, {text}));
    CHECK(journal.durable() == JournalPosition(1));
    disk.crash(sim::everything_lost);
    CHECK(texts_of(*disk.storage()) == text);
  }
}

TEST_CASE("a full disk refuses a commit and keeps it: with space again it goes on") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  disk.set_capacity(20 * block_bytes);
  Journal journal = value_or_throw(open_journal(*storage, 1));
  Batch batch;
  append_text(batch, std::string(5 * block_bytes, 'a'));
  value_or_throw(journal.commit(batch));
  append_text(batch, std::string(5 * block_bytes, 'b'));
  for (int i = 0; i < 3; ++i) {
    const auto refused = journal.commit(batch);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::disk_full);
    CHECK(batch.count() == 1);
    CHECK(journal.durable() == JournalPosition(1));
  }
  append_text(batch, "c");
  disk.set_capacity(SimulatedDisk::unlimited);
  value_or_throw(journal.commit(batch));
  CHECK(journal.durable() == JournalPosition(3));
  CHECK(texts_of(*storage) == std::string(5 * block_bytes, 'a') + " " + std::string(5 * block_bytes, 'b') + " c");
}

TEST_CASE("where a large segment has no room a smaller one is made, and with room they grow again") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  const JournalOptions options{
      .segment_bytes = 64 * block_bytes, .first_segment_bytes = 8 * block_bytes, .prepared_bytes = 0};
  Journal journal = value_or_throw(open_journal(*storage, 1, options));
  const std::string text(3 * block_bytes, 'x');
  const auto fill = [&](int segments) {
    const std::size_t before = value_or_throw(storage->names()).size();
    while (value_or_throw(storage->names()).size() < before + static_cast<std::size_t>(segments))
      value_or_throw(commit_texts(journal, {text}));
  };
  const auto last_bytes = [&] {
    const auto names = value_or_throw(storage->names());
    const auto is_segment = [](const std::string& name) { return name.ends_with(".segment"); };
    const auto last = std::find_if(names.rbegin(), names.rend(), is_segment);
    return value_or_throw(storage->open(*last))->bytes();
  };
  std::uint64_t used = 0;
  fill(3);
  CHECK(last_bytes() == 64 * block_bytes);
  for (const std::string& name : value_or_throw(storage->names())) used += value_or_throw(storage->open(name))->bytes();
  disk.set_capacity(used + 20 * block_bytes);
  fill(1);
  CHECK(last_bytes() == 16 * block_bytes);
  disk.set_capacity(SimulatedDisk::unlimited);
  fill(1);
  CHECK(last_bytes() == 32 * block_bytes);
  CHECK(value_or_throw(examine(*storage, std::nullopt)).damages.empty());
}

TEST_CASE("space that is prepared holds what is written into it later") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  const JournalOptions options{.segment_bytes = 12 * block_bytes, .prepared_bytes = 4 * block_bytes};
  Journal journal = value_or_throw(open_journal(*storage, 1, options));
  std::string expected;
  for (int i = 0; i < 30; ++i) {
    while (value_or_throw(journal.prepare())) {
    }
    const std::string text(3000, static_cast<char>('a' + i % 26));
    value_or_throw(commit_texts(journal, {text}));
    expected += (expected.empty() ? "" : " ") + text;
  }
  disk.crash(sim::everything_lost);
  CHECK(texts_of(*disk.storage()) == expected);
}

TEST_CASE("segments of a process begin small and double, so that one that writes little leaves little behind") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  const JournalOptions options{
      .segment_bytes = 40 * block_bytes, .first_segment_bytes = 8 * block_bytes, .prepared_bytes = 0};
  std::string expected;
  for (std::uint64_t process = 1; process <= 2; ++process) {
    Journal journal = value_or_throw(open_journal(*storage, process, options));
    for (int i = 0; i < 100; ++i) {
      value_or_throw(commit_texts(journal, {"x"}));
      expected += expected.empty() ? "x" : " x";
    }
    value_or_throw(journal.close());
  }
  std::vector<std::uint64_t> blocks;
  for (const FoundSegment& segment : value_or_throw(examine(*storage, test_owner)).segments)
    blocks.push_back(segment.head.bytes / block_bytes);
  CHECK(blocks == std::vector<std::uint64_t>{8, 16, 32, 40, 40, 8, 16, 32, 40, 40});
  CHECK(texts_of(*storage) == expected);
}

TEST_CASE("batches that are begun one behind the other become durable in their order") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  Batch batch;
  for (std::uint64_t i = 0; i < 20; ++i) {
    append_text(batch, std::to_string(i));
    value_or_throw(journal.begin_commit(batch));
    CHECK(batch.empty());
    CHECK(journal.durable() == JournalPosition(i));
    CHECK(journal.end() == JournalPosition(i + 1));
  }
  value_or_throw(journal.finish_commit());
  CHECK(journal.durable() == JournalPosition(20));
  value_or_throw(journal.close());
  CHECK(value_or_throw(examine(*storage, test_owner)).end == JournalPosition(20));
}

TEST_CASE("a journal of another node, of another group, or put together of several is refused") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  value_or_throw(commit_texts(journal, {"a"}));
  const auto refused = [&](const JournalOwner& owner) {
    const auto findings = examine(*storage, owner);
    return !findings && findings.error().kind() == ErrorKind::refused;
  };
  CHECK(refused({test_owner.group, NodeId(4)}));
  CHECK(refused({digest_of("other"), NodeId(3)}));
  CHECK(examine(*storage, std::nullopt).ok());
  {
    // A head that somebody has written who knows the journal's name.
    const auto first = value_or_throw(storage->open(segment_name(0)));
    SegmentHead forged = value_or_throw(read_segment(*first)).head.value();
    forged.owner.node = NodeId(4);
    forged.seal.number = 1;
    Blocks bytes(first->bytes());
    for (const std::uint64_t at : head_at) std::ranges::copy(head_block(forged), bytes.begin() + static_cast<long>(at));
    value_or_throw(value_or_throw(storage->create(segment_name(1), bytes.size()))->write(0, bytes));
    const auto whoever = examine(*storage, std::nullopt);
    REQUIRE_FALSE(whoever);
    CHECK(whoever.error().kind() == ErrorKind::refused);
    value_or_throw(storage->remove(segment_name(1)));
  }
  value_or_throw(storage->rename(segment_name(0), segment_name(1)));
  CHECK(refused(test_owner));
  value_or_throw(storage->rename(segment_name(1), segment_name(0)));

  SimulatedDisk elsewhere(2);
  const auto other = elsewhere.storage();
  value_or_throw(Journal::open(*other, {}, {test_owner, 1}, digest_of("another journal"), small_segments));
  const auto from = value_or_throw(other->open(segment_name(0)));
  Blocks bytes(from->bytes());
  value_or_throw(from->read(0, bytes));
  value_or_throw(value_or_throw(storage->create(segment_name(1), bytes.size()))->write(0, bytes));
  CHECK(refused(test_owner));
}

}  // namespace
}  // namespace spindrift::store
