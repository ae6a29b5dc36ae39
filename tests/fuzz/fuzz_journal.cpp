// The files of a journal, whose every byte a disk or somebody with access to it may have changed: a whole journal with bytes
// that differ, or with entries that are sealed as they should be and say anything.
#include <spindrift/core/bytes.hpp>
#include <spindrift/store/batch.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/journal.hpp>

#include <algorithm>
#include <map>
#include <memory>

#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::store;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

/// A file that is open stays where it is, whatever becomes of its name.
using Files = std::map<std::string, std::shared_ptr<Blocks>, std::less<>>;

class MemoryFile final : public StoredFile {
 public:
  explicit MemoryFile(std::shared_ptr<Blocks> file) : file_(std::move(file)), bytes_(*file_) {}
  [[nodiscard]] std::uint64_t bytes() const noexcept override { return bytes_.size(); }
  Result<void> read(std::uint64_t at, std::span<std::byte> to) override {
    std::ranges::copy(std::span(bytes_).subspan(at, to.size()), to.begin());
    return {};
  }
  Result<void> write(std::uint64_t at, std::span<const std::byte> from) override {
    std::ranges::copy(from, bytes_.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
  }
  Result<void> write_durably(std::uint64_t at, std::span<const std::byte> from) override { return write(at, from); }
  Result<void> begin_write(std::uint64_t at, std::span<const std::byte> from) override { return write(at, from); }
  Result<void> finish_write() override { return {}; }
  Result<void> sync() override { return {}; }

 private:
  std::shared_ptr<Blocks> file_;
  Blocks& bytes_;
};

/// Files in memory, as plain as can be.
class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(const Files& files = {}) {
    for (const auto& [name, bytes] : files) files_[name] = std::make_shared<Blocks>(*bytes);
  }
  [[nodiscard]] Files& files() noexcept { return files_; }

  Result<std::vector<std::string>> names() override {
    std::vector<std::string> names;
    for (const auto& [name, bytes] : files_) names.push_back(name);
    return names;
  }
  Result<std::unique_ptr<StoredFile>> create(std::string_view name, std::uint64_t bytes) override {
    files_[std::string(name)] = std::make_shared<Blocks>(bytes);
    return open(name);
  }
  Result<std::unique_ptr<StoredFile>> open(std::string_view name) override {
    const auto found = files_.find(name);
    if (found == files_.end()) return Error(ErrorKind::bad_input, "there is no such file");
    return std::unique_ptr<StoredFile>(std::make_unique<MemoryFile>(found->second));
  }
  Result<void> rename(std::string_view from, std::string_view to) override {
    std::shared_ptr<Blocks> bytes = std::move(files_.find(from)->second);
    files_.erase(files_.find(from));
    files_[std::string(to)] = std::move(bytes);
    return {};
  }
  Result<void> remove(std::string_view name) override {
    files_.erase(files_.find(name));
    return {};
  }
  Result<void> sync_names() override { return {}; }
  [[nodiscard]] std::string place(std::string_view name) const override { return std::string(name); }

 private:
  Files files_;
};

const JournalOwner owner{{{1, 2}}, NodeId(3)};
const Digest journal_name{{4, 5}};

const EntryHead piece_head{EntryKind::checkpoint, no_subgroup, NodeId(3), ViewId(0), SequenceNumber(0), 4};

/// Two segments of two processes, the second of which stores a checkpoint, and has closed it.
Files whole_journal() {
  MemoryStorage storage;
  for (std::uint64_t process = 1; process <= 2; ++process) {
    const auto findings = value_or_throw(examine(storage, owner));
    const auto format = process == 1 ? SegmentFormat::first : SegmentFormat::third;
    const JournalOptions options{.segment_bytes = 10 * block_bytes, .prepared_bytes = 0, .format = format};
    Journal journal = value_or_throw(Journal::open(storage, findings, {owner, process}, journal_name, options));
    Batch batch;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const EntryHead head{EntryKind::message, SubgroupId(i % 2), NodeId(i), ViewId(1), SequenceNumber(i), i};
      batch.append(head, std::as_bytes(std::span("payload")));
      if (i % 2 == 1) value_or_throw(journal.commit(batch));
    }
    if (process == 1) continue;
    for (const std::uint64_t offset : {0U, 3U}) {
      const auto state = std::as_bytes(std::span("state.")).subspan(offset, 3);
      const CheckpointPiece piece{SubgroupId(0), CheckpointOf::present, LogVersion(2), {}, 6, offset, state};
      batch.append(piece_head, checkpoint_payload(piece));
    }
    value_or_throw(journal.commit(batch));
    value_or_throw(journal.close());
  }
  return std::move(storage.files());
}

/// Changes bytes anywhere in one of the files.
void edit(Blocks& bytes, Choices& choices) {
  while (!choices.empty()) {
    const std::uint64_t at = choices.choice(bytes.size());
    bytes[at] ^= std::byte(static_cast<std::uint8_t>(choices.number(1)));
  }
}

/// Numbers that may be those of a piece of a checkpoint, as far as they have a place.
void draw_piece(std::span<std::byte> payload, Choices& choices) {
  const SubgroupId subgroup(static_cast<std::uint32_t>(choices.choice(3)));
  const auto of = static_cast<std::uint32_t>(choices.choice(3));
  const std::uint64_t version = choices.choice(8);
  const std::uint64_t bytes = choices.choice(200);
  const std::uint64_t offset = choices.choice(200);
  const auto numbers = field_bytes(subgroup, of, version, Digest{}.words, bytes, offset);
  std::copy_n(numbers.begin(), std::min(numbers.size(), payload.size()), payload.begin());
}

/// Puts entries at the beginnings of blocks that are sealed for that segment, whatever they say.
void forge(Blocks& bytes, Choices& choices) {
  const HeadReading reading = read_head(std::span(bytes).first(block_bytes));
  const std::uint64_t first = entries_at(reading.head.logs) / block_bytes;
  for (std::uint64_t block = first; block < bytes.size() / block_bytes && !choices.empty(); ++block) {
    const std::uint64_t size = choices.choice(200);
    const auto place = std::span(bytes).subspan(block * block_bytes, entry_bytes(size));
    EntryHead head{static_cast<EntryKind>(choices.choice(7)), SubgroupId(static_cast<std::uint32_t>(choices.choice(3))),
                   NodeId(0), ViewId(choices.number(8)), SequenceNumber(0), 0};
    if (head.kind == EntryKind::checkpoint) draw_piece(place.subspan(entry_head_bytes, size), choices);
    const Entry entry{JournalPosition(choices.choice(12)), LogVersion(choices.choice(12)), head,
                      place.subspan(entry_head_bytes, size)};
    LogEnd before;
    before.link.words[0] = choices.number(1);
    static_cast<void>(seal_entry(place, entry, before, reading.head.seal,
                                 {JournalPosition(choices.choice(12)), choices.choice(2) == 0}));
  }
}

/// A checkpoint that counts is whole, wherever its pieces lie.
void read_checkpoints(Storage& storage, const JournalFindings& findings) {
  CheckpointLedger ledger;
  if (!findings.segments.empty()) ledger.begin(findings.segments.front().ends);
  const auto visited = visit_entries(storage, findings, findings.first(), [&](const Entry& entry) {
    ledger.note(entry);
    const auto piece = checkpoint_piece(entry.payload);
    if (piece) expect(std::ranges::equal(checkpoint_payload(*piece), entry.payload), "a piece is written as it was read");
    return true;
  });
  expect(visited.ok(), "what was examined can be read");
  for (const auto& entry : ledger.all()) {
    std::uint64_t bytes = 0;
    const auto read = read_checkpoint(storage, findings.segments, entry.second, [&](std::span<const std::byte> state) {
      bytes += state.size();
      return true;
    });
    expect(read.ok() && bytes == entry.second.bytes, "a checkpoint that counts can be read");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Files whole = whole_journal();
  MemoryStorage storage(whole);
  Choices choices(data, size);
  auto file = storage.files().begin();
  if (choices.choice(2) == 1) ++file;
  choices.choice(2) == 0 ? edit(*file->second, choices) : forge(*file->second, choices);
  const auto findings = examine(storage, owner);
  if (!findings) return 0;
  std::optional<JournalPosition> last;
  const auto visited = visit_entries(storage, *findings, JournalPosition(0), [&](const Entry& entry) {
    expect(!last || *last < entry.position, "positions grow");
    expect(entry.position < findings->end, "no entry is behind the journal's end");
    last = entry.position;
    return true;
  });
  expect(visited.ok(), "what was examined can be read");
  read_checkpoints(storage, *findings);
  const auto opened = Journal::open(storage, *findings, {owner, 9}, journal_name, {.segment_bytes = 10 * block_bytes});
  expect(opened.ok() == (findings->loss() == nullptr), "a journal goes on unless entries are lost");
  if (!opened) return 0;
  const auto again = examine(storage, owner);
  expect(again.ok() && again->loss() == nullptr && again->end == findings->end, "its next segment begins where it ended");
  return 0;
}
