// The pieces of a checkpoint lie among other entries of the journal, all of them before its end.
#include <spindrift/group/kept_checkpoints.hpp>

#include <algorithm>

namespace spindrift::group {

void KeptCheckpoints::settle(store::JournalPosition durable) {
  while (!coming_.empty() && coming_.front().end && *coming_.front().end <= durable) {
    durable_ = coming_.front().checkpoint;
    coming_.erase(coming_.begin());
  }
}

const store::Checkpoint* KeptCheckpoints::whole() const noexcept {
  const auto is_whole = [](const Coming& each) { return each.end.has_value(); };
  const auto newest = std::find_if(coming_.rbegin(), coming_.rend(), is_whole);
  return newest == coming_.rend() ? durable() : &newest->checkpoint;
}

std::optional<store::JournalPosition> KeptCheckpoints::needed_from() const noexcept {
  if (durable_) return durable_->position;
  return coming_.empty() ? std::nullopt : std::optional(coming_.front().checkpoint.position);
}

const store::Checkpoint* KeptCheckpoints::coming() const noexcept {
  return coming_.empty() || coming_.back().end ? nullptr : &coming_.back().checkpoint;
}

void KeptCheckpoints::drop_coming() noexcept {
  if (coming() != nullptr) coming_.pop_back();
}

void KeptCheckpoints::begin(const store::Checkpoint& checkpoint, store::CheckpointOf of) {
  drop_coming();
  coming_.push_back({checkpoint, of, 0, std::nullopt});
}

store::CheckpointPiece KeptCheckpoints::next_piece(std::span<const std::byte> state) const noexcept {
  const store::Checkpoint& begun = coming_.back().checkpoint;
  return {begun.subgroup, coming_.back().of, begun.version, begun.link, begun.bytes, coming_.back().written, state};
}

void KeptCheckpoints::note_piece(std::uint64_t bytes, store::JournalPosition end) noexcept {
  Coming& begun = coming_.back();
  begun.written += bytes;
  if (begun.written == begun.checkpoint.bytes) begun.end = end;
}

void KeptCheckpoints::begin_log_at(std::uint64_t version) noexcept {
  if (durable_ && durable_->version.value() < version) durable_.reset();
}

void KeptCheckpoints::begin_anew(bool with_newest) {
  durable_.reset();
  if (with_newest && !coming_.empty()) {
    coming_.erase(coming_.begin(), coming_.end() - 1);
  } else {
    coming_.clear();
  }
}

}  // namespace spindrift::group
