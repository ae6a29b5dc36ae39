// The order of writes and syncs in here is what a crash meets; each has its rule in FORMAT.md.
#include <spindrift/store/journal.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <spindrift/core/check.hpp>
#include <spindrift/store/segment_file.hpp>

namespace spindrift::store {
namespace {

/// So much is prepared at once: what a commit may have to wait for.
constexpr std::uint64_t prepared_at_once = std::uint64_t{256} << 10U;

Error lost(const Damage& damage) {
  std::string which = "entry " + std::to_string(damage.first.value());
  if (damage.end > damage.first) which += " to " + std::to_string(damage.end.value() - 1);
  return Error(ErrorKind::bad_input, "the journal is damaged: " + std::string(to_string(damage.kind)) + " (" + which + ")")
      .at(damage.place)
      .fix("see what else has happened to that disk; an older copy of the directory is no help where others went on since");
}

}  // namespace

Journal::Journal(Storage& storage, const JournalFindings& findings, const JournalWriter& writer, const Digest& fresh,
                 const JournalOptions& options)
    : storage_(storage),
      options_(options),
      writer_(writer),
      next_bytes_(std::min(options.first_segment_bytes, options.segment_bytes)),
      durable_(findings.end),
      end_(findings.end),
      ends_(findings.ends) {
  CHECK(writer.incarnation != 0);
  for (const std::uint64_t bytes : {options.segment_bytes, options.first_segment_bytes})
    CHECK(bytes % block_bytes == 0 && bytes >= 8 * block_bytes);
  for (const FoundSegment& segment : findings.segments)
    segments_.push_back({segment.head.seal.number, segment.head.first});
  seal_.journal = findings.segments.empty() ? fresh : findings.segments.back().head.seal.journal;
}

Result<Journal> Journal::open(Storage& storage, const JournalFindings& findings, const JournalWriter& writer,
                              const Digest& fresh, const JournalOptions& options) {
  if (const Damage* const damage = findings.loss()) return lost(*damage);
  Journal journal(storage, findings, writer, fresh, options);
  SPINDRIFT_TRY(journal.clean_up(findings));
  SPINDRIFT_TRY(journal.begin_segment(0));
  if (!findings.begun) SPINDRIFT_TRY(journal.note_begun());
  return journal;
}

Result<void> Journal::clean_up(const JournalFindings& findings) {
  for (const std::string& name : findings.leftovers) SPINDRIFT_TRY(storage_.remove(name));
  for (const FoundSegment& segment : findings.segments) SPINDRIFT_TRY(mend_heads(segment));
  if (findings.segments.empty()) return {};
  // The last entries may lie in the disk's cache alone, and the next head vouches for them.
  SPINDRIFT_TRY_ASSIGN(const auto last, storage_.open(segment_name(findings.segments.back().head.seal.number)));
  return last->sync();
}

Result<void> Journal::note_begun() {
  SPINDRIFT_TRY_ASSIGN(const auto file, storage_.create(begun_name, block_bytes));
  SPINDRIFT_TRY(file->sync());
  return storage_.sync_names();
}

Result<void> Journal::mend_heads(const FoundSegment& segment) {
  SPINDRIFT_TRY_ASSIGN(const auto file, storage_.open(segment_name(segment.head.seal.number)));
  SPINDRIFT_TRY_ASSIGN(const SegmentReading reading, read_segment(*file));
  for (const std::uint64_t at : reading.lost)
    SPINDRIFT_TRY(file->write_durably(at, at < log_ends_at ? head_block(segment.head) : log_ends_blocks(segment.ends)));
  return {};
}

Result<void> Journal::begin_segment(std::uint64_t entry_bytes) {
  SegmentHead head;
  head.format = options_.format;
  head.seal = {seal_.journal, segments_.empty() ? 0 : segments_.back().number + 1, writer_.incarnation};
  head.owner = writer_.owner;
  head.first = end_;
  head.logs = ends_.all().size();
  head.log_ends = log_ends_digest(ends_);
  head.oldest = segments_.empty() ? 0 : segments_.front().number;
  SPINDRIFT_TRY_ASSIGN(auto file, make_segment(entries_at(head.logs) + entry_bytes));
  head.bytes = file->bytes();
  SPINDRIFT_TRY(name_segment(*file, head));
  seal_ = head.seal;
  file_ = std::move(file);
  offset_ = prepared_ = entries_at(head.logs);
  mark_ = 0;
  segments_.push_back({head.seal.number, head.first});
  next_bytes_ = std::min(2 * std::min(head.bytes, next_bytes_), options_.segment_bytes);
  return {};
}

// A disk that has no room for a large one may have room for a small one, behind which a trim makes more.
Result<std::unique_ptr<StoredFile>> Journal::make_segment(std::uint64_t bytes) {
  const std::uint64_t least = std::max(std::min(options_.first_segment_bytes, options_.segment_bytes), bytes);
  std::uint64_t size = std::max(next_bytes_, bytes);
  auto file = storage_.create(unfinished_segment_name, size);
  while (!file && file.error().kind() == ErrorKind::disk_full && size > least) {
    size = std::max(least, whole_blocks(size / 2));
    file = storage_.create(unfinished_segment_name, size);
  }
  return file;
}

Result<void> Journal::name_segment(StoredFile& file, const SegmentHead& head) {
  const Blocks block = head_block(head);
  const Blocks ends = log_ends_blocks(ends_);
  for (const std::uint64_t at : head_at) SPINDRIFT_TRY(file.write(at, block));
  for (std::uint64_t at = log_ends_at; at < entries_at(head.logs); at += ends.size()) SPINDRIFT_TRY(file.write(at, ends));
  SPINDRIFT_TRY(file.sync());
  SPINDRIFT_TRY(storage_.rename(unfinished_segment_name, segment_name(head.seal.number)));
  return storage_.sync_names();
}

Result<void> Journal::usable() const {
  if (failure_) return *failure_;
  return {};
}

Error Journal::fail(Error error) {
  failure_ = error;
  return error;
}

Result<void> Journal::begin_commit(Batch& batch) { return write(batch, Wait::no); }
Result<void> Journal::commit(Batch& batch) { return write(batch, Wait::yes); }

// The next segment's head vouches for everything before it.
Result<void> Journal::write(Batch& batch, Wait wait) {
  SPINDRIFT_TRY(usable());
  if (batch.empty()) return finish_commit();
  CHECK(batch.format() <= options_.format);
  const std::uint64_t bytes = batch.bytes();
  if (offset_ + bytes > file_->bytes()) {
    SPINDRIFT_TRY(finish_commit());
    auto begun = begin_segment(bytes);
    if (!begun && begun.error().kind() == ErrorKind::disk_full) return std::move(begun).error();
    if (!begun) return fail(std::move(begun).error());
  }
  const auto sealed = batch.seal(seal_, end_, ends_);  // while the one before is being written
  SPINDRIFT_TRY(finish_commit());
  auto written = wait == Wait::yes ? file_->write_durably(offset_, sealed) : file_->begin_write(offset_, sealed);
  if (!written) return fail(std::move(written).error());
  std::swap(writing_.batch, batch);
  end_ = JournalPosition(end_.value() + writing_.batch.count());
  offset_ += bytes;
  prepared_ = std::max(prepared_, offset_);
  if (wait == Wait::yes) note_written();
  return {};
}

void Journal::note_written() noexcept {
  const BatchPlace place = durable_ == segments_.back().first ? BatchPlace::begins_segment : BatchPlace::follows;
  durable_ = JournalPosition(durable_.value() + writing_.batch.count());
  if (writing_.taker) writing_.taker(writing_.batch, place);
  writing_.batch.clear();
}

Result<void> Journal::finish_commit() {
  SPINDRIFT_TRY(usable());
  if (writing_.batch.empty()) return {};
  if (auto written = file_->finish_write(); !written) return fail(std::move(written).error());
  note_written();
  return {};
}

// A block that was written before is overwritten without a change of the file system's own, which a sync would wait for.
Result<bool> Journal::prepare() {
  SPINDRIFT_TRY(finish_commit());
  const std::uint64_t end = std::min(file_->bytes(), offset_ + options_.prepared_bytes);
  const bool enough = 2 * (prepared_ - offset_) > options_.prepared_bytes && !preparing_;
  if (prepared_ >= end || enough) return preparing_ = false;
  const Blocks zeros(std::min(end - prepared_, prepared_at_once));
  if (auto written = file_->write(prepared_, zeros); !written) return fail(std::move(written).error());
  prepared_ += zeros.size();
  return preparing_ = prepared_ < end;
}

SegmentMark Journal::next_mark() noexcept { return {++mark_, durable(), segments_.front().number}; }

Result<void> Journal::vouch() {
  SPINDRIFT_TRY(finish_commit());
  if (auto written = file_->write(mark_at[1], mark_block(seal_, next_mark())); !written)
    return fail(std::move(written).error());
  return {};
}

// The one that `vouch` writes may be torn by a crash already, so it goes first.
Result<void> Journal::write_marks() {
  for (const std::uint64_t at : {mark_at[1], mark_at[0]}) {
    if (auto written = file_->write_durably(at, mark_block(seal_, next_mark())); !written)
      return fail(std::move(written).error());
  }
  return {};
}

Result<void> Journal::trim(JournalPosition before) {
  SPINDRIFT_TRY(finish_commit());
  std::vector<Segment> gone;
  while (segments_.size() > 1 && segments_[1].first <= before) {
    gone.push_back(segments_.front());
    segments_.erase(segments_.begin());
  }
  if (gone.empty()) return {};
  SPINDRIFT_TRY(write_marks());
  for (const Segment& segment : gone) {
    if (auto removed = storage_.remove(segment_name(segment.number)); !removed) return fail(std::move(removed).error());
  }
  if (auto synced = storage_.sync_names(); !synced) return fail(std::move(synced).error());
  return {};
}

Result<void> Journal::close() {
  SPINDRIFT_TRY(finish_commit());
  SPINDRIFT_TRY(write_marks());
  failure_ = Error(ErrorKind::group_closed, "the journal is closed");
  return {};
}

}  // namespace spindrift::store
