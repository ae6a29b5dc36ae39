// The changes of the roster that this member's application wants: said to the leader of view after view, until they are in
// effect or impossible. Pure; the poller's.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <spindrift/core/roster.hpp>

namespace spindrift::views {

class RosterWishes {
 public:
  /// In a view with this roster; what it has already, or makes impossible, is no wish.
  void want(const std::vector<RosterChange>& changes, const Roster& roster) {
    for (const RosterChange& each : changes) {
      const bool known = std::ranges::find(wanted_, each) != wanted_.end();
      if (!known && !is_over(each, roster)) wanted_.push_back(each);
    }
  }
  /// A view begins with this roster: what it grants or makes impossible is no wish any more.
  void begin_view(const Roster& roster) {
    std::erase_if(wanted_, [&](const RosterChange& each) { return is_over(each, roster); });
    said_ = 0;
  }
  /// The next ones that the leader of this view was not told yet, as many as one message may have.
  [[nodiscard]] std::vector<RosterChange> take_unsaid() {
    const std::size_t from = std::exchange(said_, std::min(wanted_.size(), said_ + roster_count_max));
    return {wanted_.begin() + static_cast<std::ptrdiff_t>(from), wanted_.begin() + static_cast<std::ptrdiff_t>(said_)};
  }

 private:
  [[nodiscard]] static bool is_over(const RosterChange& wish, const Roster& roster) {
    return in_effect(roster, wish) || !check(roster, wish);
  }

  std::vector<RosterChange> wanted_;
  std::size_t said_ = 0;  // so many of them, in the present view
};

}  // namespace spindrift::views
