// The pieces of a checkpoint lie among other entries of the journal, all of them before its end.
#include <spindrift/group/kept_checkpoints.hpp>

#include <algorithm>

namespace spindrift::group {

void KeptCheckpoints::settle(store::JournalPosition durable) noexcept {
  if (!coming_ || !coming_->end || durable < *coming_->end) return;
  durable_ = coming_->checkpoint;
  coming_.reset();
}

const store::Checkpoint* KeptCheckpoints::whole() const noexcept {
  return coming_ && coming_->end ? &coming_->checkpoint : durable();
}

std::optional<store::JournalPosition> KeptCheckpoints::needed_from() const noexcept {
  if (!durable_) return coming_ ? std::optional(coming_->checkpoint.position) : std::nullopt;
  return coming_ ? std::min(durable_->position, coming_->checkpoint.position) : durable_->position;
}

store::CheckpointPiece KeptCheckpoints::next_piece(std::span<const std::byte> state) const noexcept {
  const store::Checkpoint& begun = coming_->checkpoint;
  return {begun.subgroup, begun.version, begun.link, begun.bytes, coming_->written, state};
}

void KeptCheckpoints::note_piece(std::uint64_t bytes, store::JournalPosition end) noexcept {
  coming_->written += bytes;
  if (coming_->written == coming_->checkpoint.bytes) coming_->end = end;
}

void KeptCheckpoints::begin_log_at(std::uint64_t version) noexcept {
  if (durable_ && durable_->version.value() < version) durable_.reset();
}

void KeptCheckpoints::begin_anew(bool with_coming) noexcept {
  durable_.reset();
  if (!with_coming) coming_.reset();
}

}  // namespace spindrift::group
