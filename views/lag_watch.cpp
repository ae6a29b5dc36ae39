// Look by look.
#include <spindrift/views/lag_watch.hpp>

#include <algorithm>

namespace spindrift::views {

void LagWatch::begin_look(Time now) noexcept {
  if (last_look_) awake_ += std::min(now - *last_look_, interval());
  last_look_ = now;
}

// One mark at a time: the next message is marked when the one before is delivered, so one that lags is found after twice the
// patience at the latest.
std::optional<Duration> LagWatch::look(SubgroupId id, std::uint64_t deliverable, std::uint64_t delivered) {
  std::optional<Mark>& mark = marks_[id.value()];
  if (mark && delivered >= mark->deliverable) mark.reset();
  if (!mark && deliverable > delivered) mark = Mark{deliverable, awake_};
  if (!mark || awake_ - mark->at < patience_) return std::nullopt;
  return awake_ - mark->at;
}

}  // namespace spindrift::views
