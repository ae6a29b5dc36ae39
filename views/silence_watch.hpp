// Watches for members of the present view that give no sign of life: their heartbeats, and when the own one is due.
//
// The invariant to remember: time in which this member itself was away counts against nobody (core/absence.hpp).
//
// Pure; one thread. Times are those of the passes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <spindrift/core/absence.hpp>
#include <spindrift/core/clock.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

class SilenceWatch {
 public:
  /// `patience`: for how long a member may be silent. 0: silence is no ground for suspicion, and nobody beats.
  explicit SilenceWatch(Duration patience) noexcept : patience_(patience), absence_(patience) {}

  /// A pass of this member begins.
  void on_pass(Time now) noexcept { absence_.on_pass(now); }
  /// A view of so many members begins, who all count as heard just now. The own silence is not judged.
  void begin_view(std::size_t members, Rank self, Time now);
  /// The connection of this member broke before the view began: it may come back, but is not waited for as long as others.
  void expect_back(Rank rank, Time now) { judge_again(signs_[rank.value()], now, patience_ / 4 - until_confirmed()); }
  /// A sign of life other than the heartbeat, since the last look.
  void hear(Rank rank) { signs_[rank.value()].spoke = true; }
  /// Looks at the heartbeats, by rank, as last read, of all but `passed_over`. Returns who is to be judged: who was silent
  /// for seven eighths of the patience, or is silent still when it is to be judged again.
  [[nodiscard]] RankSet look(std::span<const std::uint64_t> heartbeats, const RankSet& passed_over, Time now);

  /// A member that is to be judged waits for its machine: it is judged again after a beat's time. Returns how often that
  /// was so since its last sign of life; 0: too often, it is to be taken for silent.
  [[nodiscard]] std::uint32_t excuse(Rank rank, Time now);
  /// Nothing excuses a member that is to be judged. Returns whether that was so an eighth of the patience ago, too, so that
  /// it is to be taken for silent. Otherwise it is judged again in that time: one that has waited for its machine runs, and
  /// may not have come to its beat yet.
  [[nodiscard]] bool confirm(Rank rank, Time now);
  /// For so many times the patience a member may wait for its machine.
  static constexpr std::uint32_t patience_with_machines = 15;

  [[nodiscard]] bool judges() const noexcept { return patience_ != Duration{}; }
  [[nodiscard]] Duration patience() const noexcept { return patience_; }
  /// Members that the last look found without a sign of life for half of the patience. To a member that was away none is.
  [[nodiscard]] RankSet quiet() const noexcept { return absence_.away() ? RankSet() : quiet_; }
  /// This member was away until a moment ago. In a beat's time everybody who is awake has pushed what it knew at the return.
  [[nodiscard]] bool just_woke() const noexcept { return absence_.returned_within(beat_interval()); }

  /// Whether the own heartbeat is due; if so, it counts as given.
  [[nodiscard]] bool take_beat(Time now) noexcept;
  [[nodiscard]] Time next_beat() const noexcept { return judges() ? last_beat_ + beat_interval() : never; }
  /// When the first of the members but `passed_over` is to be judged, if nothing comes of it.
  [[nodiscard]] Time next_verdict(const RankSet& passed_over) const noexcept;

 private:
  enum class Judged : std::uint8_t { not_silent, silent_once };  ///< at the last look, since it was heard or excused
  struct Sign {
    std::uint64_t heartbeat = 0;  ///< as last seen
    Time heard{};                 ///< when that changed, the member spoke, or the view began
    bool spoke = false;           ///< since the last look
    std::uint32_t excuses = 0;    ///< since it was heard
    Judged judged = Judged::not_silent;
  };
  [[nodiscard]] Duration beat_interval() const noexcept { return patience_ / 4; }
  [[nodiscard]] Duration until_confirmed() const noexcept { return patience_ / 8; }
  /// It is to be judged so much later than now, if it gives no sign of life.
  void judge_again(Sign& sign, Time now, Duration later) const noexcept {
    sign.heard = now + later - (patience_ - until_confirmed());
  }

  Duration patience_;
  Absence absence_;
  Rank self_;
  std::vector<Sign> signs_;  // by rank
  RankSet quiet_;
  Time last_beat_{};
};

}  // namespace spindrift::views
