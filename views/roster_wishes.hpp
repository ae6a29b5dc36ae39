// The changes of the roster that this member's application wants: said to the leader of view after view, until they are in
// effect or impossible. Pure; the poller's.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::views {

/// That change is for a roster which does not admit the node.
[[nodiscard]] inline bool takes_out(const RosterChange& change, NodeId node) noexcept {
  return (change.kind == RosterChange::Kind::remove || change.kind == RosterChange::Kind::drain) && change.node == node;
}

class RosterWishes {
 public:
  /// In this view; what its roster has already, or makes impossible, is no wish.
  void want(const std::vector<RosterChange>& changes, const View& view) {
    Roster ahead = next_edition(view.roster, wanted_, view);
    for (const RosterChange& each : changes) {
      const bool known = std::ranges::find(wanted_, each) != wanted_.end();
      if (!known && !is_over(each, ahead, view)) wanted_.push_back(each);
    }
  }
  /// This view begins: what its roster grants or makes impossible is no wish any more.
  void begin_view(const View& view) {
    Roster ahead = view.roster;
    std::erase_if(wanted_, [&](const RosterChange& each) { return is_over(each, ahead, view); });
    said_ = 0;
  }
  /// The next ones that the leader of this view was not told yet, as many as one message may have.
  [[nodiscard]] std::vector<RosterChange> take_unsaid() {
    const std::size_t from = std::exchange(said_, std::min(wanted_.size(), said_ + roster_changes_max));
    return {wanted_.begin() + static_cast<std::ptrdiff_t>(from), wanted_.begin() + static_cast<std::ptrdiff_t>(said_)};
  }
  /// Some of them, which is neither granted nor impossible, takes that node out.
  [[nodiscard]] bool take_out(NodeId node) const noexcept {
    return std::ranges::any_of(wanted_, [node](const RosterChange& each) { return takes_out(each, node); });
  }

 private:
  // `ahead`: the roster with the wishes in front of this one, which may make it possible; with it afterwards.
  [[nodiscard]] static bool is_over(const RosterChange& wish, Roster& ahead, const View& view) {
    const bool possible = check(view.roster, wish, view).ok() || check(ahead, wish, view).ok();
    if (in_effect(view.roster, wish) || !possible) return true;
    ahead = next_edition(ahead, {&wish, 1}, view);
    return false;
  }

  std::vector<RosterChange> wanted_;
  std::size_t said_ = 0;  // so many of them, in the present view
};

}  // namespace spindrift::views
