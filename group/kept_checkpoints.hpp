// The checkpoints of one log in its node's journal: the one that a restart finds, and those that are on their way there.
//
// The invariant to remember: what a restart would begin with is never given up before the next one is on the disk.
//
// The poller's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/store/checkpoint.hpp>

namespace spindrift::group {

class KeptCheckpoints {
 public:
  KeptCheckpoints() = default;
  /// As a journal was found.
  explicit KeptCheckpoints(const store::Checkpoint& found) : durable_(found) {}

  /// Everything of the journal before that position is on the disk.
  void settle(store::JournalPosition durable);
  /// The newest that is on the disk with all of its pieces, as of the last `settle`; null: there is none.
  [[nodiscard]] const store::Checkpoint* durable() const noexcept { return durable_ ? &*durable_ : nullptr; }
  /// The newest that has all of its pieces in the journal, be they on the disk or not; null: there is none.
  [[nodiscard]] const store::Checkpoint* whole() const noexcept;
  /// The journal is needed from there on; nothing: it is not.
  [[nodiscard]] std::optional<store::JournalPosition> needed_from() const noexcept;

  /// The one of which pieces follow; null: there is none.
  [[nodiscard]] const store::Checkpoint* coming() const noexcept;
  /// No more pieces of it follow, and it counts for nothing.
  void drop_coming() noexcept;
  /// The first piece is the journal's next entry. Nothing of another one that is not whole counts any more.
  void begin(const store::Checkpoint& checkpoint, store::CheckpointOf of);
  /// The checkpoint that was begun goes on with these bytes. There is one.
  [[nodiscard]] store::CheckpointPiece next_piece(std::span<const std::byte> state) const noexcept;
  /// So many bytes of it were appended; the journal ends at that position now.
  void note_piece(std::uint64_t bytes, store::JournalPosition end) noexcept;

  /// The log begins there now: a checkpoint of an earlier version counts for nothing.
  void begin_log_at(std::uint64_t version) noexcept;
  /// The log begins anew: of those that there were only the newest counts, which has just come, if `with_newest`.
  void begin_anew(bool with_newest);

 private:
  struct Coming {
    store::Checkpoint checkpoint;
    store::CheckpointOf of = store::CheckpointOf::present;
    std::uint64_t written = 0;                  ///< bytes
    std::optional<store::JournalPosition> end;  ///< behind the last piece; nothing: more follow
  };

  std::optional<store::Checkpoint> durable_;
  std::vector<Coming> coming_;  // in the order of the journal: all but the last are whole
};

}  // namespace spindrift::group
