// A subgroup's log, and the checkpoints of its object, read from the files of a journal, also while that is being written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <spindrift/core/result.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/store/entry.hpp>

namespace spindrift::group {

/// Is given one message after the other; its payload is valid during the call. False: no more.
using MessageVisitor = std::function<bool(const store::Entry&)>;

/// Visits the messages of versions [from, to), which are on the disk, and returns the end of the log behind the last that
/// was visited; before the first, if there is none. Reads no more of the journal than the segments that it needs. Errors:
/// bad_input (some of them are not there, or damaged), resource.
[[nodiscard]] Result<store::LogEnd> read_log(const LogPlace& log, std::uint64_t from, std::uint64_t to,
                                             const MessageVisitor& visitor);

/// Looks whether that checkpoint is of that log, which goes up to its version. Errors: bad_input (it is of another log: it
/// came with that one, whose end had not come when the process died, or somebody put it there), as `read_log`.
[[nodiscard]] Result<void> check_checkpoint(const LogPlace& log, const store::Checkpoint& checkpoint);

/// Is given one piece of a state after the other; it is valid during the call. False: no more.
using StateVisitor = std::function<bool(std::span<const std::byte>)>;

/// Visits a checkpoint of that log, which is on the disk, piece by piece; of an empty state one empty piece. Reads no more
/// of the journal than the segments that it needs. Errors: bad_input (it is not whole there: damaged, or trimmed away),
/// resource.
[[nodiscard]] Result<void> read_checkpoint(const LogPlace& log, const store::Checkpoint& checkpoint,
                                           const StateVisitor& visitor);

}  // namespace spindrift::group
