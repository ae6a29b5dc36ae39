// Judging records.
#include <spindrift/group/feed_cursor.hpp>

namespace spindrift::group {

bool FeedCursor::on_end(const FeedEnd& end) {
  if (end.delivered == 0) return false;
  if (expected_) {
    if (end.delivered <= *expected_) return false;
    gap_ = {last_, end.last, end.delivered - *expected_};
  } else if (mode_ == DeliveryMode::unordered || (last_ && end.last <= *last_)) {
    return false;
  } else {
    gap_ = {last_, end.last, std::nullopt};
  }
  last_ = end.last;
  expected_ = end.delivered;
  return true;
}

FeedCursor::Verdict FeedCursor::judge(const FeedRecord& record) {
  const auto gap = [this](std::optional<MessagePlace> last, std::optional<std::uint64_t> messages) {
    gap_ = {last_, last, messages};
    return Verdict::with_gap;
  };
  Verdict verdict = Verdict::next;
  if (expected_) {
    if (record.number < *expected_) return Verdict::known;
    if (record.number > *expected_) verdict = gap(record.previous(), record.number - *expected_);
  } else if (mode_ == DeliveryMode::unordered) {
    verdict = gap(std::nullopt, std::nullopt);
  } else if (last_ && record.place() <= *last_) {
    return Verdict::known;
  } else if (!record.previous() || !last_ || *record.previous() > *last_) {
    verdict = gap(record.previous(), std::nullopt);
  }
  if (record.omitted != 0) {
    const std::optional<std::uint64_t> before = verdict == Verdict::next ? std::optional<std::uint64_t>(0) : gap_.messages;
    gap_ = {last_, record.place(), before ? std::optional(*before + 1) : std::nullopt};
    verdict = Verdict::missing;
  }
  take(record);
  return verdict;
}

void FeedCursor::take(const FeedRecord& record) noexcept {
  last_ = record.place();
  expected_ = record.number + 1;
}

}  // namespace spindrift::group
