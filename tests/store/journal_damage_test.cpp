// A journal whose files are damaged: what was durable is found to be damaged, never passed over, and what was not is cut.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <string>

#include <spindrift/store/file_storage.hpp>

#include "journal_fixture.hpp"
#include "simulated_disk.hpp"
#include "temporary_directory.hpp"

namespace spindrift::store {
namespace {

using sim::SimulatedDisk;

/// The place of one of the twenty entries of a journal: a block each, eight in the first segment, and six in each other one,
/// where the ends of logs have two.
struct EntryBlock {
  std::uint64_t segment = 0;
  std::uint64_t block = 0;
};
EntryBlock block_of(std::uint64_t position) {
  if (position < 8) return {0, 4 + position};
  return {1 + (position - 8) / 6, 6 + (position - 8) % 6};
}
/// The position of the first entry of a segment, and of the journal's end.
constexpr std::uint64_t first_of[] = {0, 8, 14, 20};

/// Three segments of one process: an entry a block, which begins with a to t.
void write_a_to_t(Storage& storage, bool vouched = true) {
  Journal journal = value_or_throw(open_journal(storage, 1));
  for (char initial = 'a'; initial <= 't'; ++initial) value_or_throw(commit_texts(journal, {std::string(1000, initial)}));
  if (vouched) value_or_throw(journal.close());
}

class DamagedJournal {
 public:
  explicit DamagedJournal(bool vouched = true) : disk_(1), storage_(disk_.storage()) { write_a_to_t(*storage_, vouched); }

  void flip(std::uint64_t segment, std::uint64_t block, std::uint64_t byte = 200) {
    disk_.flip_bit(segment_name(segment), (block * block_bytes + byte) * 8);
  }
  void flip_entry(std::uint64_t position) { flip(block_of(position).segment, block_of(position).block); }
  /// Writes what lies at the place of one entry to that of another.
  void copy(std::uint64_t from, std::uint64_t to) {
    Blocks block(block_bytes);
    const auto file_of = [&](std::uint64_t position) {
      return value_or_throw(storage_->open(segment_name(block_of(position).segment)));
    };
    value_or_throw(file_of(from)->read(block_of(from).block * block_bytes, block));
    value_or_throw(file_of(to)->write_durably(block_of(to).block * block_bytes, block));
  }
  [[nodiscard]] JournalFindings findings() { return value_or_throw(examine(*storage_, test_owner)); }
  /// The first characters of the entries that can be read.
  [[nodiscard]] std::string initials() {
    std::string initials;
    for (const ReadEntry& entry : read_entries(*storage_, findings())) initials += entry.text.front();
    return initials;
  }
  [[nodiscard]] Storage& storage() { return *storage_; }
  [[nodiscard]] SimulatedDisk& disk() { return disk_; }

 private:
  SimulatedDisk disk_;
  std::unique_ptr<Storage> storage_;
};

void check_loses(const JournalFindings& findings, std::uint64_t first, std::uint64_t end) {
  const Damage* const loss = findings.loss();
  REQUIRE(loss != nullptr);
  CHECK(loss->first == JournalPosition(first));
  CHECK(loss->end == JournalPosition(end));
}

TEST_CASE("an entry that was durable and is damaged is found, wherever it is, and the journal does not go on") {
  for (const std::uint64_t position : {0U, 3U, 7U, 8U, 13U, 14U, 19U}) {
    DamagedJournal journal;
    journal.flip_entry(position);
    INFO(position);
    check_loses(journal.findings(), position, position + 1);
    const auto opened = open_journal(journal.storage(), 9);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().kind() == ErrorKind::bad_input);
    CHECK(journal.initials() == std::string("abcdefghijklmnopqrst").erase(position, 1));
  }
}

TEST_CASE("entries in a row that are damaged are one damage, and their count is known") {
  DamagedJournal journal;
  for (const std::uint64_t position : {10U, 11U, 12U}) journal.flip_entry(position);
  check_loses(journal.findings(), 10, 13);
}

TEST_CASE("an entry of which nobody vouches that it was durable is cut, and the next process goes on behind what is left") {
  DamagedJournal journal(false);
  journal.flip_entry(19);
  CHECK(journal.findings().damages.empty());
  CHECK(journal.findings().segments.back().torn > 0);
  CHECK(journal.initials() == "abcdefghijklmnopqrs");
  Journal next = value_or_throw(open_journal(journal.storage(), 9));
  CHECK(next.end() == JournalPosition(19));
  value_or_throw(commit_texts(next, {"z"}));
  CHECK(journal.initials() == "abcdefghijklmnopqrsz");
}

TEST_CASE("a batch that was written in part is cut where it ends to be whole") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const std::string text(3000, 'x');
  value_or_throw(commit_texts(journal, {"a"}));
  value_or_throw(commit_texts(journal, {"b", text, text, text, "c"}));  // three blocks
  disk.lose_block(segment_name(0), 6);
  const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
  CHECK(findings.damages.empty());
  CHECK(findings.end == JournalPosition(3));
  Journal next = value_or_throw(open_journal(*storage, 2));
  value_or_throw(commit_texts(next, {"d"}));
  CHECK(texts_of(*storage) == "a b " + text + " d");
}

TEST_CASE("entries behind the end that the next process found are void, be they whole") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  Journal journal = value_or_throw(open_journal(*storage, 1));
  const std::string text(3000, 'x');
  value_or_throw(commit_texts(journal, {"a"}));
  value_or_throw(commit_texts(journal, {"b", text, text, text, "c"}));
  disk.flip_bit(segment_name(0), 5 * block_bytes * 8 + 1600);
  Journal next = value_or_throw(open_journal(*storage, 2));
  CHECK(next.end() == JournalPosition(2));
  disk.flip_bit(segment_name(0), 5 * block_bytes * 8 + 1600);  // as if the disk had only refused to read it
  value_or_throw(commit_texts(next, {"d"}));
  CHECK(value_or_throw(examine(*storage, test_owner)).damages.empty());
  CHECK(texts_of(*storage) == "a b d");
}

TEST_CASE("one of two heads that is damaged is found, and mended by the next process") {
  for (const std::uint64_t block : {0U, 3U}) {
    DamagedJournal journal;
    journal.flip(1, block);
    REQUIRE(journal.findings().damages.size() == 1);
    CHECK(journal.findings().damages.front().kind == Damage::Kind::head);
    CHECK(journal.findings().loss() == nullptr);
    CHECK(journal.initials() == "abcdefghijklmnopqrst");
    value_or_throw(open_journal(journal.storage(), 9));
    CHECK(journal.findings().damages.empty());
  }
}

TEST_CASE("a segment both of whose heads are damaged is lost, and so is one that is missing") {
  for (const std::uint64_t segment : {0U, 1U}) {
    DamagedJournal journal;
    journal.flip(segment, 0);
    journal.flip(segment, 3);
    check_loses(journal.findings(), first_of[segment], first_of[segment + 1]);
    CHECK_FALSE(open_journal(journal.storage(), 9));
  }
  for (const std::uint64_t segment : {0U, 1U}) {
    DamagedJournal journal;
    value_or_throw(journal.storage().remove(segment_name(segment)));
    const JournalFindings findings = journal.findings();
    REQUIRE(findings.loss() != nullptr);
    CHECK(findings.loss()->kind == Damage::Kind::segment);
    CHECK(findings.loss()->end == JournalPosition(first_of[segment + 1]));
  }
}

TEST_CASE("a last segment both of whose heads are damaged is lost, with nobody knowing how much it had") {
  DamagedJournal journal;
  journal.flip(2, 0);
  journal.flip(2, 3);
  check_loses(journal.findings(), 14, 14);
  CHECK_FALSE(open_journal(journal.storage(), 9));
}

TEST_CASE("a newest segment that was overwritten from any of its first blocks on has lost what it had") {
  for (const std::uint64_t block : {0U, 1U, 2U, 3U, 4U, 5U}) {
    DamagedJournal journal;
    const auto file = value_or_throw(journal.storage().open(segment_name(2)));
    value_or_throw(file->write_durably(block * block_bytes, Blocks(file->bytes() - block * block_bytes)));
    const JournalFindings findings = journal.findings();
    REQUIRE(findings.loss() != nullptr);
    // The marks say how many there were, if a copy of where its logs began is left, too.
    check_loses(findings, first_of[2], block == 5 ? first_of[3] : first_of[2]);
    CHECK_FALSE(open_journal(journal.storage(), 9));
  }
}

TEST_CASE("the only segment that was overwritten from any of its first blocks on has lost what it had") {
  for (const std::uint64_t block : {0U, 1U, 2U, 3U, 4U}) {
    SimulatedDisk disk(1);
    const auto storage = disk.storage();
    {
      Journal journal = value_or_throw(open_journal(*storage, 1));
      for (const char* const text : {"a", "b", "c"}) value_or_throw(commit_texts(journal, {text}));
      value_or_throw(journal.close());
    }
    const auto file = value_or_throw(storage->open(segment_name(0)));
    value_or_throw(file->write_durably(block * block_bytes, Blocks(file->bytes() - block * block_bytes)));
    const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
    REQUIRE(findings.loss() != nullptr);
    check_loses(findings, 0, block < 2 ? 0 : 3);  // a mark that is left says how many there were
    CHECK_FALSE(open_journal(*storage, 9));
  }
}

TEST_CASE("a segment that nothing was written to yet is whole") {
  DamagedJournal journal;
  value_or_throw(open_journal(journal.storage(), 9));
  CHECK(journal.findings().damages.empty());
  CHECK(journal.findings().segments.back().used == entries_at(journal.findings().segments.back().head.logs));
}

TEST_CASE("a segment that is cut within a block has lost that block, and what lies before it and around it is read") {
  for (const std::uint64_t segment : {0U, 1U, 2U}) {
    const TemporaryDirectory directory;
    FileStorage storage = value_or_throw(FileStorage::open_at(directory.path()));
    write_a_to_t(storage);
    const std::uint64_t last = first_of[segment + 1] - 1;
    const std::uint64_t cut = (block_of(last).block + 1) * block_bytes - 1;
    std::filesystem::resize_file(directory.path() + "/" + segment_name(segment), cut);
    const JournalFindings findings = value_or_throw(examine(storage, test_owner));
    check_loses(findings, last, last + 1);
    CHECK_THAT(findings.loss()->place, Catch::Matchers::Contains(segment_name(segment)));
    CHECK(read_entries(storage, findings).size() == 19);
    CHECK_FALSE(open_journal(storage, 9));
  }
}

TEST_CASE("a segment that is a byte longer or shorter has lost nothing where nothing was written there") {
  for (const std::uint64_t written : {1U, 5U, 20U}) {
    const TemporaryDirectory directory;
    FileStorage storage = value_or_throw(FileStorage::open_at(directory.path()));
    {
      Journal journal = value_or_throw(open_journal(storage, 1));
      for (std::uint64_t i = 0; i < written; ++i) value_or_throw(commit_texts(journal, {std::string(1000, 'a')}));
    }
    const JournalFindings before = value_or_throw(examine(storage, test_owner));
    const std::string last = directory.path() + "/" + segment_name(before.segments.back().head.seal.number);
    const std::uint64_t bytes = std::filesystem::file_size(last);
    const bool is_full = whole_blocks(before.segments.back().used) + block_bytes >= bytes;
    for (const std::uint64_t odd : {bytes + 1, bytes - 1, whole_blocks(before.segments.back().used) + block_bytes}) {
      if (odd < bytes && is_full) continue;
      std::filesystem::resize_file(last, odd);
      const JournalFindings findings = value_or_throw(examine(storage, test_owner));
      CHECK(findings.damages.empty());
      CHECK(read_entries(storage, findings).size() == written);
      std::filesystem::resize_file(last, bytes);
    }
    // Without a block of zeros in front of the cut more entries may have been behind it.
    std::filesystem::resize_file(last, whole_blocks(before.segments.back().used));
    CHECK((value_or_throw(examine(storage, test_owner)).loss() != nullptr) == !is_full);
    std::filesystem::resize_file(last, bytes - (is_full ? 0 : 1));
    CHECK(open_journal(storage, 9));
  }
}

TEST_CASE("a segment that ends before its entries would begin tells nothing, be its heads whole") {
  for (const std::uint64_t blocks : {0U, 3U, 4U, 5U}) {
    const TemporaryDirectory directory;
    FileStorage storage = value_or_throw(FileStorage::open_at(directory.path()));
    write_a_to_t(storage);
    std::filesystem::resize_file(directory.path() + "/" + segment_name(1), blocks * block_bytes);
    const JournalFindings findings = value_or_throw(examine(storage, test_owner));
    check_loses(findings, first_of[1], first_of[2]);
    CHECK(read_entries(storage, findings).size() == 14);
    CHECK_FALSE(open_journal(storage, 9));
  }
}

TEST_CASE("a whole entry in the place of another is damage, in its own segment and in another one") {
  for (const std::uint64_t from : {2U, 10U, 15U}) {
    DamagedJournal journal;
    journal.copy(from, 12);
    check_loses(journal.findings(), 12, 13);
  }
}

TEST_CASE("a write that went to another place and left its own as it was is damage at both") {
  DamagedJournal journal;
  journal.disk().misdirect(segment_name(1), block_of(9).block, block_of(11).block);
  const JournalFindings findings = journal.findings();
  REQUIRE(findings.damages.size() == 2);
  CHECK(findings.damages[0].first == JournalPosition(9));
  CHECK(findings.damages[1].first == JournalPosition(11));
}

TEST_CASE("bytes behind a batch that should be zeros are found, and lose nothing") {
  DamagedJournal journal;
  journal.flip(1, block_of(9).block, 4000);
  REQUIRE(journal.findings().damages.size() == 1);
  CHECK(journal.findings().damages.front().kind == Damage::Kind::padding);
  CHECK(journal.initials() == "abcdefghijklmnopqrst");
  CHECK(open_journal(journal.storage(), 9).ok());
}

TEST_CASE("a block that the disk does not give is damage there alone") {
  DamagedJournal journal;
  const auto file = value_or_throw(journal.storage().open(segment_name(1)));
  journal.disk().fail_next(SimulatedDisk::Operation::read);  // of the heads of the first segment, all at once
  CHECK(journal.findings().loss() == nullptr);
}

TEST_CASE("without a segment's ends of logs its head is worth nothing") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  value_or_throw(commit_texts(*std::make_unique<Journal>(value_or_throw(open_journal(*storage, 1))), {"a"}));
  {
    Journal journal = value_or_throw(open_journal(*storage, 2));
    value_or_throw(commit_texts(journal, {"b"}));
    value_or_throw(journal.close());
  }
  disk.flip_bit(segment_name(1), log_ends_at * 8);
  CHECK(value_or_throw(examine(*storage, test_owner)).loss() == nullptr);
  disk.flip_bit(segment_name(1), (log_ends_at + block_bytes) * 8);
  CHECK(value_or_throw(examine(*storage, test_owner)).loss() != nullptr);
}

TEST_CASE("a byte that is damaged anywhere in a small journal is found, or changes nothing that was written") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  {
    Journal journal = value_or_throw(open_journal(*storage, 1));
    for (int i = 0; i < 10; ++i) value_or_throw(commit_texts(journal, {"first", std::string(500, 'x'), "last"}));
    value_or_throw(journal.close());
  }
  const JournalFindings whole = value_or_throw(examine(*storage, test_owner));
  REQUIRE(whole.segments.size() == 2);
  const std::string texts = texts_of(*storage);
  std::uint64_t found = 0;
  std::uint64_t harmless = 0;
  for (const FoundSegment& segment : whole.segments) {
    const std::string name = segment_name(segment.head.seal.number);
    const auto file = value_or_throw(storage->open(name));
    Blocks bytes(file->bytes());
    value_or_throw(file->read(0, bytes));
    for (std::uint64_t at = 0; at < bytes.size(); at += SPINDRIFT_DAMAGED_STEP) {
      const auto block = std::span(bytes).subspan(at / block_bytes * block_bytes, block_bytes);
      bytes[at] ^= std::byte{0x5a};
      value_or_throw(file->write(at / block_bytes * block_bytes, block));
      const JournalFindings findings = value_or_throw(examine(*storage, test_owner));
      const bool is_same = findings.end == whole.end && findings.ends == whole.ends && texts_of(*storage) == texts;
      found += findings.damages.empty() ? 0U : 1U;
      harmless += findings.damages.empty() ? 1U : 0U;
      // One of two marks that is damaged is what a crash leaves, and space that nothing was written to may hold anything.
      const bool unwritten = at >= whole_blocks(segment.used);
      const bool mark = at >= mark_at[0] && at < mark_at[1] + block_bytes;
      if (findings.damages.empty()) REQUIRE((is_same && (unwritten || mark)));
      if (findings.loss() == nullptr) REQUIRE(is_same);
      bytes[at] ^= std::byte{0x5a};
      value_or_throw(file->write(at / block_bytes * block_bytes, block));
    }
  }
  CHECK(found > 0);
  CHECK(harmless > 0);
}

}  // namespace
}  // namespace spindrift::store
