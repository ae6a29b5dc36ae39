// The work on checkpoints that takes as long as a state is large: on a thread beside the poller, with what it needs as
// values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>

#include <spindrift/core/result.hpp>
#include <spindrift/group/node_journal.hpp>
#include <spindrift/group/object_copy.hpp>
#include <spindrift/store/checkpoint.hpp>
#include <spindrift/views/log_point.hpp>
#include <spindrift/views/upcalls.hpp>

namespace spindrift::group {

/// A checkpoint that an object is to begin with.
struct CheckpointToLoad {
  LogPlace log;
  store::Checkpoint checkpoint;
  store::JournalPosition written;  ///< everything before it is on the disk when it is read
};
/// Gives the object its state, when that is on the disk and proves to be of this log. The object gets nothing else
/// meanwhile. Errors: bad_input, refused, unsupported, resource, group_closed (`stop` was requested, or the journal was
/// closed).
[[nodiscard]] Result<void> load_checkpoint(NodeJournal& journal, const CheckpointToLoad& from, ReplicaBase& object,
                                           const HandlerThreads& threads, const std::stop_token& stop);

/// A checkpoint that is to be made of the one before and the messages behind that. All of them are on the disk.
struct CheckpointToMake {
  LogPlace log;
  std::optional<store::Checkpoint> last;  ///< nothing: of all messages
  std::uint64_t version = 0;

  [[nodiscard]] std::uint64_t begun_at() const noexcept { return last ? last->version.value() : 0; }
};
struct MadeCheckpoint {
  views::LogPoint at;
  std::unique_ptr<views::StateReader> state;  ///< is ready
};
/// Makes it by a second object. `channel`: that of the program's. Errors: unsupported (an update started a call), and as of
/// ObjectCopy; group_closed: `stop` was requested. Throws what the object's constructor, and what saves it, throws.
[[nodiscard]] Result<MadeCheckpoint> make_checkpoint(const CheckpointToMake& task, const ReplicaChannel& channel,
                                                     const ObjectMaker& make, const std::stop_token& stop);

}  // namespace spindrift::group
