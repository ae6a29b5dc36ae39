// The members that have to agree on the end of a view, and under which ballots: a majority; or, where that is lost, those
// whom the people that run the group have named to go on.
//
// The invariant to remember: ballots of a revival are above all of a majority, and those of a later attempt above those of
// an earlier one; so a decree is accepted either by a majority or under a revival, never by some for this and some for that.
//
// A value; pure. (docs/protocol.md, "Revival")
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <spindrift/core/ids.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

/// Most attempts to revive one view.
inline constexpr std::uint64_t revivals_max = std::uint64_t{1} << 16U;

/// The word of those who run the group, about a view that has lost its majority: these members go on, the rest is given up.
struct Revival {
  std::uint64_t attempt = 0;  ///< from 1 to `revivals_max`; grows within the view
  RankSet members{};          ///< at least one
  bool operator==(const Revival&) const noexcept = default;
};

/// The id of the view that follows, by this decree's ballot if it was decided under a revival, and 0 otherwise. No two views
/// that follow from one have the same, whoever made them; the one of a later attempt has the higher.
[[nodiscard]] constexpr ViewId id_behind(ViewId view, std::uint64_t revival) noexcept {
  return ViewId(view.value() + 1 + (revival << 32U));
}
/// Grows with each revival, and is the same for all views until the next one.
[[nodiscard]] constexpr std::uint64_t era_of(ViewId view) noexcept { return view.value() >> 32U; }
/// Eras of foundings without a majority are told apart by the nodes that asked, as far as these differ in their ids' last
/// bits: no two of these nodes found in one era, whatever views they know.
inline constexpr std::uint64_t askers_apart = std::uint64_t{1} << 16U;
/// The number behind the latest view, of so many members, with which the asking node founds without a majority: above all
/// ballots of a revival of it.
[[nodiscard]] constexpr std::uint64_t forced_number(ViewId latest, std::uint64_t members, NodeId asks) noexcept {
  const std::uint64_t least = era_of(latest) + (revivals_max + 1) * members + 1;
  const std::uint64_t to_own = (askers_apart + asks.value() % askers_apart - least % askers_apart) % askers_apart;
  return least + to_own - era_of(latest);
}
/// The second view may follow the first at once. The one before view 0 is the highest of all.
[[nodiscard]] constexpr bool is_right_behind(ViewId view, ViewId next) noexcept {
  const ViewId without_revival = id_behind(view, 0);
  const auto place = [](ViewId id) { return static_cast<std::uint32_t>(id.value()); };
  return place(without_revival) == place(next) && era_of(without_revival) <= era_of(next);
}

class Mandate {
 public:
  /// The end of a member whose view has lost its majority, or none.
  enum class OnLoss : std::uint8_t {
    end,   ///< it ends
    wait,  ///< it keeps what it has, and waits for a revival
  };
  /// The members that agree, as long as there is no revival.
  enum class Rule : std::uint8_t {
    majority,  ///< more than half of the view
    all_left,  ///< all that are left, however few
  };

  struct Terms {
    Rule rule = Rule::majority;
    OnLoss on_loss = OnLoss::end;
  };

  Mandate(std::size_t members, const Terms& terms) : members_(members), all_(RankSet::first(members)), terms_(terms) {}

  /// The host of that member is this one, or another, as far as connections tell. The latest word counts.
  void place(Rank rank, bool here) {
    RankSet& is = here ? here_ : elsewhere_;
    RankSet& is_not = here ? elsewhere_ : here_;
    is.add(rank);
    is_not = is_not.without(RankSet::of(rank));
  }
  [[nodiscard]] bool is_of_one_host() const noexcept { return here_ == all_; }
  /// False: none is known to be elsewhere; the places of some may not be known.
  [[nodiscard]] bool is_of_several_hosts() const noexcept { return !elsewhere_.empty(); }
  /// Neighbors alone do not wait: one that cannot go on ends, for the others may know how, by the testimony of the dead, and
  /// wait for what it does.
  [[nodiscard]] OnLoss on_loss() const noexcept { return is_of_one_host() ? OnLoss::end : terms_.on_loss; }
  /// All members of the view.
  [[nodiscard]] const RankSet& everybody() const noexcept { return all_; }
  [[nodiscard]] const Terms& terms() const noexcept { return terms_; }
  /// Those who run the group said so. Of several that one counts which has the latest attempt.
  void hear(const Revival& revival) {
    latest_ = std::max(latest_, revival.attempt);
    if (!heard_ || heard_->attempt < revival.attempt) heard_ = revival;
  }
  /// The latest word that has not been taken up; null: there is none.
  [[nodiscard]] const Revival* untaken() const noexcept {
    return heard_ && (!taken_ || taken_->attempt < heard_->attempt) ? &*heard_ : nullptr;
  }
  void take_up() { taken_ = heard_; }
  void reject() { heard_ = taken_; }
  /// A revival was taken up.
  [[nodiscard]] bool is_revival() const noexcept { return taken_.has_value(); }
  /// The latest word names these, and no others.
  [[nodiscard]] bool names(const RankSet& members) const noexcept { return heard_ && heard_->members == members; }
  /// The word that was taken up is said again under a later attempt.
  [[nodiscard]] bool is_repeated() const noexcept { return taken_ && untaken() != nullptr && names(taken_->members); }
  /// For whoever is told to revive the view now. A rejected one counts, too: others may have taken it up.
  [[nodiscard]] std::uint64_t next_attempt() const noexcept { return latest_ + 1; }
  /// Those that the reader trusts can end the view, as far as their number goes, or who they are.
  [[nodiscard]] bool suffices(const RankSet& suspected) const noexcept {
    const RankSet trusted = all_.without(suspected);
    return taken_ ? trusted == taken_->members : trusted.count() >= quorum(suspected);
  }
  /// Members that have to accept.
  [[nodiscard]] std::uint64_t quorum(const RankSet& suspected) const noexcept {
    if (taken_) return taken_->members.count();
    return terms_.rule == Rule::majority ? members_ / 2 + 1 : all_.without(suspected).count();
  }
  /// Under which that member leads. Not 0.
  [[nodiscard]] std::uint64_t ballot_of(Rank leader) const noexcept {
    return (taken_ ? taken_->attempt * members_ : 0) + leader.value() + 1;
  }
  /// The value of `Decree::revival` in a decree that was accepted under this ballot.
  [[nodiscard]] std::uint64_t revival_of(std::uint64_t ballot) const noexcept { return ballot > members_ ? ballot : 0; }
  /// The highest that there can be in this view.
  [[nodiscard]] std::uint64_t highest_ballot() const noexcept { return (revivals_max + 1) * members_; }

 private:
  std::uint64_t members_;
  RankSet all_;
  Terms terms_;
  RankSet here_{};
  RankSet elsewhere_{};
  std::optional<Revival> heard_;
  std::optional<Revival> taken_;
  std::uint64_t latest_ = 0;  // of all attempts that were heard of
};

}  // namespace spindrift::views
