// Judging silence, beat by beat.
#include <spindrift/views/silence_watch.hpp>

#include <algorithm>
#include <utility>

namespace spindrift::views {

void SilenceWatch::begin_view(std::size_t members, Rank self, Time now) {
  self_ = self;
  signs_.assign(members, Sign{0, now, false});
  quiet_ = {};
}

RankSet SilenceWatch::look(std::span<const std::uint64_t> heartbeats, const RankSet& passed_over, Time now) {
  RankSet silent;
  if (!judges()) return silent;
  const bool away = absence_.away();
  quiet_ = {};
  for (std::uint32_t i = 0; i < signs_.size(); ++i) {
    if (Rank(i) == self_ || passed_over.contains(Rank(i))) continue;
    Sign& sign = signs_[i];
    if (std::exchange(sign.spoke, false) || away || heartbeats[i] != sign.heartbeat) {
      sign.heartbeat = heartbeats[i];
      sign.heard = now;
      sign.excuses = 0;
      sign.judged = Judged::not_silent;
    } else if (now - sign.heard >= patience_ - until_confirmed()) {
      silent.add(Rank(i));
    } else if (now - sign.heard >= patience_ / 2) {
      quiet_.add(Rank(i));
    }
  }
  return silent;
}

std::uint32_t SilenceWatch::excuse(Rank rank, Time now) {
  Sign& sign = signs_[rank.value()];
  if (sign.excuses >= 4 * (patience_with_machines - 1)) return 0;
  sign.judged = Judged::not_silent;
  judge_again(sign, now, beat_interval());
  quiet_.add(rank);
  return ++sign.excuses;
}

bool SilenceWatch::confirm(Rank rank, Time now) {
  Sign& sign = signs_[rank.value()];
  if (std::exchange(sign.judged, Judged::silent_once) == Judged::silent_once) return true;
  judge_again(sign, now, until_confirmed());
  quiet_.add(rank);
  return false;
}

bool SilenceWatch::take_beat(Time now) noexcept {
  if (!judges() || now - last_beat_ < beat_interval()) return false;
  last_beat_ = now;
  return true;
}

Time SilenceWatch::next_verdict(const RankSet& passed_over) const noexcept {
  Time next = never;
  const Duration until_judged = patience_ - until_confirmed();
  for (std::uint32_t i = 0; judges() && i < signs_.size(); ++i) {
    if (Rank(i) != self_ && !passed_over.contains(Rank(i))) next = std::min(next, signs_[i].heard + until_judged);
  }
  return next;
}

}  // namespace spindrift::views
