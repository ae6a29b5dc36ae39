// The journal of a node, as its one writer has it: entries are appended to a batch, and a commit makes the batch durable.
// Segments follow each other; a crash at any moment leaves everything that a commit has reported. FORMAT.md has the rules.
// (Compare TigerBeetle, docs/internals/data_file.md, and ARIES, C. Mohan et al., TODS 1992, on the tail of a log.)
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/store/batch.hpp>
#include <spindrift/store/entry.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

struct JournalOptions {
  std::uint64_t segment_bytes = std::uint64_t{64} << 20U;  ///< whole blocks, at least 8; a batch that is larger has its own
  /// The first segment of a process has so many, if that is less; each that follows has twice as many, up to that number.
  /// A process that appends little leaves little behind, all of which is read at each later start. Whole blocks, at least 8.
  std::uint64_t first_segment_bytes = std::uint64_t{256} << 10U;
  std::uint64_t prepared_bytes = std::uint64_t{1} << 20U;  ///< so much is kept written with zeros ahead; 0: nothing is
  SegmentFormat format = SegmentFormat::first;             ///< of the segments that are begun
};

/// A process of a node.
struct JournalWriter {
  JournalOwner owner;
  std::uint64_t incarnation = 0;  ///< of the process; not 0, and no earlier one of the node had it
};

/// Not thread-safe; all calls but the queries may wait for the disk. After an error of the kind `resource` all further
/// commits fail with it: the node has to stop, for what is on its disk is known to nobody.
class Journal {
 public:
  /// Goes on with what `examine` found, or begins a journal, whose name among all is `fresh`, drawn at random. Removes what
  /// counts for nothing, mends what is damaged in one of two copies, and begins a segment. `storage` outlives it. Errors:
  /// bad_input (entries that were durable are damaged), disk_full, resource.
  [[nodiscard]] static Result<Journal> open(Storage& storage, const JournalFindings& findings, const JournalWriter& writer,
                                            const Digest& fresh, const JournalOptions& options);

  enum class BatchPlace : std::uint8_t { begins_segment, follows };
  /// Is given each batch when it has become durable, and its place; may take it, and leave an empty one that has memory.
  /// Throws nothing.
  using Taker = std::function<void(Batch&, BatchPlace)>;
  void give_durable_to(Taker taker) { writing_.taker = std::move(taker); }

  /// Begins to write the batch, behind the one before, which is durable then. Takes its entries, and leaves it empty.
  /// Errors: disk_full (the batch is as it was: it may be tried again when there is space), resource (for good).
  [[nodiscard]] Result<void> begin_commit(Batch& batch);
  /// The batch that is being written is durable when it returns. Errors: resource (for good).
  [[nodiscard]] Result<void> finish_commit();
  /// Makes the batch durable, as one that nothing else is to be done beside. Errors: as above.
  [[nodiscard]] Result<void> commit(Batch& batch);
  /// Does what makes the next commits faster; to be called when there is nothing to commit. True: there is more to do.
  /// Errors: resource (for good).
  [[nodiscard]] Result<bool> prepare();
  /// Vouches for everything that is durable, so that damage at the end can be told from a torn tail. Not synced. Errors:
  /// resource (for good).
  [[nodiscard]] Result<void> vouch();
  /// Removes segments all of whose entries are durable and lie before that position. Errors: resource (for good).
  [[nodiscard]] Result<void> trim(JournalPosition before);
  /// Finishes what was begun, and vouches for it durably. Nothing may be called but queries afterwards. Errors: resource.
  [[nodiscard]] Result<void> close();

  /// Everything before it is on the disk.
  [[nodiscard]] JournalPosition durable() const noexcept { return durable_; }
  /// The position that the next entry will have.
  [[nodiscard]] JournalPosition end() const noexcept { return end_; }
  /// The ends of the logs before that.
  [[nodiscard]] const LogEnds& ends() const noexcept { return ends_; }
  /// Its name among all.
  [[nodiscard]] const Digest& name() const noexcept { return seal_.journal; }
  /// The first position whose entry is still there.
  [[nodiscard]] JournalPosition first() const noexcept { return segments_.front().first; }

 private:
  struct Segment {
    std::uint64_t number = 0;
    JournalPosition first;
  };

  struct UnderWay {
    Batch batch;  // is being written; empty: nothing is
    Taker taker;  // gets it then; null: nobody does
  };

  Journal(Storage& storage, const JournalFindings& findings, const JournalWriter& writer, const Digest& fresh,
          const JournalOptions& options);

  enum class Wait { no, yes };
  [[nodiscard]] Result<void> write(Batch& batch, Wait wait);
  void note_written() noexcept;
  [[nodiscard]] Result<void> clean_up(const JournalFindings& findings);
  [[nodiscard]] Result<void> note_begun();
  [[nodiscard]] Result<void> mend_heads(const FoundSegment& segment);
  [[nodiscard]] Result<void> begin_segment(std::uint64_t entry_bytes);
  /// The file of the next segment, of at least so many bytes. Errors: as of Storage::create.
  [[nodiscard]] Result<std::unique_ptr<StoredFile>> make_segment(std::uint64_t bytes);
  [[nodiscard]] Result<void> name_segment(StoredFile& file, const SegmentHead& head);
  [[nodiscard]] SegmentMark next_mark() noexcept;
  /// In both places, so that one that is damaged does not call back what is gone.
  [[nodiscard]] Result<void> write_marks();
  [[nodiscard]] Result<void> usable() const;
  /// Nothing is written from now on.
  [[nodiscard]] Error fail(Error error);

  Storage& storage_;
  JournalOptions options_;
  JournalWriter writer_;
  std::vector<Segment> segments_;  // those that are there; the last is written
  SegmentSeal seal_;               // of the last
  std::unique_ptr<StoredFile> file_;
  std::uint64_t offset_ = 0;    // where its next batch goes
  std::uint64_t prepared_ = 0;  // up to where zeros were written
  std::uint64_t next_bytes_;    // of the next segment
  bool preparing_ = false;      // until all of it is written: a little each time would cost as much as a commit
  std::uint64_t mark_ = 0;      // number of its last mark
  JournalPosition durable_;
  JournalPosition end_;
  LogEnds ends_;
  UnderWay writing_;
  std::optional<Error> failure_;  // why nothing is written any more
};

}  // namespace spindrift::store
