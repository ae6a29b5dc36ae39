// Checkpoints: the state of a subgroup's object as of a version of its log, so that a log whose first messages are trimmed
// away can still make the object. The state lies in a journal in pieces, each the payload of an entry of the log of what
// belongs to no subgroup; so the links of the subgroup's own log are the same whoever has checkpoints.
//
// The invariant to remember: a checkpoint that counts is whole, and of the log that counts; all members that have applied
// the messages below its version have that state.
//
// Plain data and functions over memory, but for `read_checkpoint`. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/store/entry.hpp>
#include <spindrift/store/examine.hpp>
#include <spindrift/store/storage.hpp>

namespace spindrift::store {

/// The log that a checkpoint is of. A log that has other messages than that of another node may have its version, too.
enum class CheckpointOf : std::uint32_t {
  present,  ///< the subgroup's log, as it is where the pieces lie
  coming,   ///< the one that begins with the next `base` of the subgroup: another node's, which sent both
};

/// One piece of a checkpoint, as the payload of an entry of kind `checkpoint`.
struct CheckpointPiece {
  SubgroupId subgroup;
  CheckpointOf of = CheckpointOf::present;
  LogVersion version;                 ///< the state is that behind all messages of lower versions
  Digest link;                        ///< of the log there
  std::uint64_t bytes = 0;            ///< of the whole state; 0: there is one piece, which is empty
  std::uint64_t offset = 0;           ///< of this piece in it, in bytes
  std::span<const std::byte> state;   ///< from there on; not empty, unless all of it is
};
/// The most bytes of state in one piece.
inline constexpr std::uint64_t checkpoint_piece_bytes_max = std::uint64_t{256} << 10U;

/// The payload of its entry. The piece lies within its state, and has at most `checkpoint_piece_bytes_max`.
[[nodiscard]] std::vector<std::byte> checkpoint_payload(const CheckpointPiece& piece);
/// Nothing: no correct node writes that. `state` lies in `payload`.
[[nodiscard]] std::optional<CheckpointPiece> checkpoint_piece(std::span<const std::byte> payload);

/// A whole one in a journal.
struct Checkpoint {
  SubgroupId subgroup;
  LogVersion version;
  Digest link;
  std::uint64_t bytes = 0;   ///< of the state
  JournalPosition position;  ///< of its first piece
  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Which checkpoints count, by the entries of a journal in their order.
///
/// Pieces of one subgroup's checkpoint follow each other by offset, with any other entries between them. The first begins
/// one and drops an unfinished one; a piece that does not continue what was begun drops it, and so does a `base`. One of the
/// present log counts when it is whole, if the log goes up to its version by then. One of a log that is to come counts when
/// the next entry of the subgroup is a `base` of its version or a lower one; a message makes it void. A `base` makes void
/// what has counted before, and a later checkpoint takes the place of an earlier one.
class CheckpointLedger {
 public:
  /// The logs end there before the first entry that is noted: in the journal's first segment. Before the first `note`.
  void begin(const LogEnds& ends);
  /// The next entry.
  void note(const Entry& entry);

  /// The one that counts. Null: there is none. Valid until the next call.
  [[nodiscard]] const Checkpoint* of(SubgroupId subgroup) const;
  /// All that count.
  [[nodiscard]] std::map<SubgroupId, Checkpoint> all() const;

 private:
  struct Log {
    LogVersion end{};                     // of the next message
    std::optional<Checkpoint> counting{};
    std::optional<Checkpoint> pending{};  // whole, of a log that is to come
    std::optional<Checkpoint> begun{};    // some of its pieces are there, the first so many bytes:
    std::uint64_t there = 0;
    CheckpointOf of = CheckpointOf::present;  // that one
  };

  void note_piece(const CheckpointPiece& piece, JournalPosition position);
  static void finish(Log& log);

  std::map<SubgroupId, Log> logs_;
};

/// Reads it, piece by piece, until the visitor wants no more (false); of an empty state there is one piece, which is empty.
/// Bytes are valid during the call. Errors: bad_input (it is not whole there, damaged or was trimmed away), resource.
[[nodiscard]] Result<void> read_checkpoint(Storage& storage, std::span<const FoundSegment> segments,
                                           const Checkpoint& checkpoint,
                                           const std::function<bool(std::span<const std::byte>)>& visitor);

}  // namespace spindrift::store
