// A record of views that is still on its way to the disk, or in the reserve, leaves the one before it to count.
#include <spindrift/group/journal_trim.hpp>

#include <algorithm>

namespace spindrift::group {

void JournalTrim::note_view(const store::EntryHead& head, std::span<const std::byte> payload,
                            store::JournalPosition position) {
  view_ = LastView{head, {payload.begin(), payload.end()}, position};
}

std::optional<store::JournalPosition> JournalTrim::next(store::JournalPosition before, store::JournalPosition durable,
                                                        const Append& append) {
  if (before <= trimmed_ || hold_.use_count() > 1 || !view_ || durable <= view_->position) return std::nullopt;
  if (view_->again && durable > *view_->again) view_->position = *std::exchange(view_->again, std::nullopt);
  if (before > view_->position && !view_->again) view_->again = append(view_->head, view_->payload);
  before = std::min(before, view_->position);
  if (before <= trimmed_) return std::nullopt;
  trimmed_ = before;
  return before;
}

}  // namespace spindrift::group
