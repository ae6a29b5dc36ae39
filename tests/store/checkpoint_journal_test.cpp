// Checkpoints in a journal: a state is read as it was written, or not at all, from segments of the format that has them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint_fixture.hpp"
#include "journal_fixture.hpp"
#include "simulated_disk.hpp"

namespace spindrift::store {
namespace {

using sim::SimulatedDisk;

constexpr SubgroupId first(0);
constexpr SubgroupId second(1);
constexpr JournalOptions third_format{
    .segment_bytes = 12 * block_bytes, .prepared_bytes = 0, .format = SegmentFormat::third};

}  // namespace

TEST_CASE("checkpoints that lie over many segments, among each other's pieces, are read as they were written") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1, third_format));
  const std::string states[] = {std::string(40'000, 'x') + "end", std::string(25'000, 'y') + "end"};
  const std::vector<std::vector<std::byte>> pieces[] = {pieces_of(first, 1, states[0], 3000),
                                                        pieces_of(second, 0, states[1], 2999)};
  const std::string_view malformed = "malformed";
  for (std::size_t i = 0; i < std::max(pieces[0].size(), pieces[1].size()); ++i) {
    Batch batch;
    append_text(batch, "message");
    for (const auto& each : pieces) {
      if (i < each.size()) batch.append(piece_head(), each[i]);
    }
    batch.append(piece_head(), std::as_bytes(std::span(malformed)));
    value_or_throw(journal.commit(batch));
  }
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.damages.empty());
  CHECK(findings.segments.size() > 3);
  CHECK(findings.ends.of(first).version == LogVersion(pieces[0].size()));
  const CheckpointLedger ledger = ledger_of(*storage, findings);
  REQUIRE(ledger.all().size() == 2);
  CHECK(state_of(*storage, findings, *ledger.of(first)) == states[0]);
  CHECK(state_of(*storage, findings, *ledger.of(second)) == states[1]);
  int wanted = 3;
  value_or_throw(read_checkpoint(*storage, findings.segments, *ledger.of(first), [&](auto) { return --wanted != 0; }));
  CHECK(wanted == 0);
}

TEST_CASE("an empty state is read as one piece, and is there whoever wants no more") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1, third_format));
  Batch batch;
  append_pieces(batch, first, 0, "", 100);
  value_or_throw(journal.commit(batch));
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  const CheckpointLedger ledger = ledger_of(*storage, findings);
  REQUIRE(ledger.of(first) != nullptr);
  int pieces = 0;
  const auto visitor = [&](std::span<const std::byte> piece) { return piece.empty() && ++pieces == 0; };
  CHECK(read_checkpoint(*storage, findings.segments, *ledger.of(first), visitor));
  CHECK(pieces == 1);
}

TEST_CASE("a checkpoint that is not whole where it should be cannot be read") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1, third_format));
  const auto pieces = pieces_of(first, 0, std::string(20'000, 'x'), 3000);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    Batch batch;
    batch.append(piece_head(), pieces[i]);
    value_or_throw(journal.commit(batch));
    if (i + 2 == pieces.size()) append_pieces(batch, second, 0, std::string(20'000, 'y'), 20'000);
    if (!batch.empty()) value_or_throw(journal.commit(batch));
  }
  JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  Checkpoint checkpoint{first, LogVersion(0), digest_of("0"), 20'000, JournalPosition(0)};
  CHECK(state_of(*storage, findings, checkpoint).size() == 20'000);
  const auto fails = [&] {
    const auto read = read_checkpoint(*storage, findings.segments, checkpoint, [](auto) { return true; });
    return !read && read.error().kind() == ErrorKind::bad_input;
  };
  SECTION("elsewhere") { checkpoint.position = JournalPosition(1); }
  SECTION("behind the end") { checkpoint.position = JournalPosition(99); }
  SECTION("of another version") { checkpoint.version = LogVersion(1); }
  SECTION("of another link") { checkpoint.link = digest_of("1"); }
  SECTION("smaller") { checkpoint.bytes = 3000; }
  SECTION("larger") { checkpoint.bytes = 20'001; }
  SECTION("of another subgroup") { checkpoint.subgroup = second; }
  SECTION("begun, and not finished") { findings.segments.resize(1); }
  SECTION("trimmed away") {
    REQUIRE(findings.segments.size() > 1);
    value_or_throw(journal.trim(journal.end()));
    CHECK(fails());  // by findings of before
    findings = value_or_throw(examine(*storage, test_owner));
  }
  SECTION("damaged") {
    disk.flip_bit(segment_name(0), (6 * block_bytes + 1000) * 8);
    findings = value_or_throw(examine(*storage, test_owner));
    REQUIRE(findings.loss() != nullptr);
    CHECK(findings.loss()->end.value() == findings.loss()->first.value() + 1);
    CHECK(ledger_of(*storage, findings).of(first) == nullptr);
  }
  CHECK(fails());
}

TEST_CASE("pieces and signatures are no entries of segments of formats that do not have them") {
  const auto kind = GENERATE(EntryKind::signature, EntryKind::checkpoint);
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1, third_format));
  Batch batch;
  append_text(batch, "before");
  value_or_throw(journal.commit(batch));
  EntryHead head = piece_head();
  head.kind = kind;
  batch.append(head, {});
  CHECK(batch.format() == first_format_with(kind));
  value_or_throw(journal.commit(batch));
  append_text(batch, "behind");
  CHECK(batch.format() == SegmentFormat::first);
  value_or_throw(journal.commit(batch));
  CHECK(texts_of(*storage) == "before  behind");
  SegmentHead segment = value_or_throw(examine(*storage, test_owner)).segments.front().head;
  for (const SegmentFormat format : {SegmentFormat::first, SegmentFormat::with_signatures}) {
    segment.format = format;
    for (const std::uint64_t at : head_at)
      value_or_throw(value_or_throw(storage->open(segment_name(0)))->write_durably(at, head_block(segment)));
    const bool has = format >= first_format_with(kind);
    const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
    CHECK((findings.loss() == nullptr) == has);
    CHECK(texts_of(*storage) == (has ? "before  behind" : "before behind"));
  }
}

TEST_CASE("segments of all formats follow each other in one journal") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  JournalOptions options = third_format;
  std::uint64_t process = 0;
  for (const auto format : {SegmentFormat::third, SegmentFormat::first, SegmentFormat::with_signatures}) {
    options.format = format;
    Journal journal = value_or_throw(open_journal(*storage, ++process, options));
    Batch batch;
    append_text(batch, "message");
    if (format == SegmentFormat::third) append_pieces(batch, first, 1, "state", 2);
    value_or_throw(journal.commit(batch));
  }
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.damages.empty());
  REQUIRE(findings.segments.size() == 3);
  CHECK(findings.segments[0].head.format == SegmentFormat::third);
  CHECK(findings.segments[2].head.format == SegmentFormat::with_signatures);
  const CheckpointLedger ledger = ledger_of(*storage, findings);
  REQUIRE(ledger.of(first) != nullptr);
  CHECK(state_of(*storage, findings, *ledger.of(first)) == "state");
}

TEST_CASE("batches that are put together need the later of their formats") {
  Batch batch;
  Batch other;
  append_text(batch, "message");
  append_pieces(other, first, 0, "state", 5);
  batch.append_all(other);
  CHECK(batch.format() == SegmentFormat::third);
  CHECK(other.format() == SegmentFormat::first);
  append_text(other, "message");
  batch.append_all(other);
  CHECK(batch.format() == SegmentFormat::third);
  batch.clear();
  CHECK(batch.format() == SegmentFormat::first);
}

}  // namespace spindrift::store
