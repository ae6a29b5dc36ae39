// Says whether this process was away: stopped, starved of CPU, or held up for long between two of its passes. The rule that
// rests on it stands here, once: a member that was away does not judge the silence of others.
//
// The invariant to remember: what others said meanwhile is seen at the earliest in the pass that ends an absence. So their
// silence counts from that pass on, not from before.
//
// A value of its owner, stepped with the time of each pass; one thread.
#pragma once

#include <optional>

#include <spindrift/core/clock.hpp>

namespace spindrift {

class Absence {
 public:
  /// `patience`: for how long another may be silent before it is given up. 0: nobody's silence is judged.
  explicit Absence(Duration patience) noexcept : patience_(patience) {}

  /// Begins a pass, or the time of those to come. `now` never falls.
  void on_pass(Time now) noexcept {
    before_ = last_.value_or(now);
    last_ = now;
    if (away()) returned_ = now;
  }

  /// More than half of the patience lies between this pass and the one before: silence is not judged in it.
  [[nodiscard]] bool away() const noexcept { return patience_ != Duration{} && last_ && *last_ - before_ > patience_ / 2; }
  /// The pass before this one; in the first pass this one. After `on_pass`.
  [[nodiscard]] Time pass_before() const noexcept { return before_; }
  /// Less than `span` has passed since the end of an absence.
  [[nodiscard]] bool returned_within(Duration span) const noexcept { return returned_ && *last_ - *returned_ < span; }

 private:
  Duration patience_;
  std::optional<Time> last_;      ///< pass
  Time before_{};                 ///< the one before it
  std::optional<Time> returned_;  ///< the first pass after the last absence
};

}  // namespace spindrift
