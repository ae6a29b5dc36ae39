// A state is read as a whole before an object is given it: none is changed by a part.
#include <spindrift/group/checkpoint_work.hpp>

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <spindrift/group/log_reading.hpp>
#include <spindrift/group/state_file.hpp>

namespace spindrift::group {
namespace {

Result<std::vector<std::byte>> state_of(const LogPlace& log, const store::Checkpoint& checkpoint) {
  std::vector<std::byte> state;
  state.reserve(checkpoint.bytes);
  SPINDRIFT_TRY(read_checkpoint(log, checkpoint, [&](std::span<const std::byte> piece) {
    state.insert(state.end(), piece.begin(), piece.end());
    return true;
  }));
  return state;
}

}  // namespace

Result<void> load_checkpoint(NodeJournal& journal, const CheckpointToLoad& from, ReplicaBase& object,
                             const HandlerThreads& threads, const std::stop_token& stop) {
  SPINDRIFT_TRY(journal.await_durable(from.written, stop));
  SPINDRIFT_TRY(check_checkpoint(from.log, from.checkpoint));
  SPINDRIFT_TRY_ASSIGN(const std::vector<std::byte> state, state_of(from.log, from.checkpoint));
  const HandlerThreads::Entry entry(threads, HandlerThreads::Kind::own);
  return object.load(state);
}

Result<MadeCheckpoint> make_checkpoint(const CheckpointToMake& task, const ReplicaChannel& channel, const ObjectMaker& make,
                                       const std::stop_token& stop) {
  const HandlerThreads::Entry entry(*channel.handler_threads(), HandlerThreads::Kind::beside);
  ObjectCopy copy(channel, make);
  if (task.last) {
    SPINDRIFT_TRY_ASSIGN(const std::vector<std::byte> state, state_of(task.log, *task.last));
    SPINDRIFT_TRY(copy.load(state, task.begun_at()));
  }
  Result<void> taken;
  const auto take = [&](const store::Entry& message) {
    taken = copy.take(message);
    return taken && !stop.stop_requested();
  };
  SPINDRIFT_TRY_ASSIGN(const store::LogEnd end, read_log(task.log, task.begun_at(), task.version, take));
  if (!taken) return std::move(taken).error();
  if (stop.stop_requested()) return Error(ErrorKind::group_closed, "nobody waits for the checkpoint any more");
  if (entry.refused()) {
    return Error(ErrorKind::unsupported, "an update started a call, or read another object, and does not do so again")
        .fix("let updates change their own object alone");
  }
  return MadeCheckpoint{{task.version, end.link}, keep_state([&](std::ostream& to) { value_or_throw(copy.save(to)); })};
}

}  // namespace spindrift::group
