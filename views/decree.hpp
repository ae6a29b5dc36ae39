// The decree that ends a view says, once, which members go, which come, and how much of the view's messages everybody
// delivers. A decree lies in a member's row, guarded by the row's `accepted` word; any of its bytes may be a peer's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/digest.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

struct Join {
  NodeId node;
  std::uint64_t incarnation = 0;
  bool operator==(const Join&) const noexcept = default;
};

/// The rank of this very incarnation in that view.
[[nodiscard]] std::optional<Rank> rank_of(const View& view, const Join& who);
/// The same in no view, where that is null.
[[nodiscard]] inline std::optional<Rank> rank_of(const View* view, const Join& who) {
  return view == nullptr ? std::nullopt : rank_of(*view, who);
}

struct Decree {
  RankSet failed;                                ///< members that are removed
  RankSet left;                                  ///< members that leave on their own wish
  std::vector<Join> joins;                       ///< newcomers, in the order of their ranks to be
  std::vector<RankSet> loaded;                   ///< by subgroup: members that have its state, also while it is inadequate
  std::vector<std::vector<std::uint64_t>> trim;  ///< by subgroup and sender: messages that everybody delivers
  /// The digest of the next view's roster, which all who stay hold; nothing: that stays as it is.
  std::optional<Digest> roster{};
  /// The ballot under which it was accepted, if the view is revived; 0: by a majority, or by the testimony of the dead.
  std::uint64_t revival = 0;

  [[nodiscard]] bool stays(Rank rank) const noexcept { return !failed.contains(rank) && !left.contains(rank); }
};

/// The decree's words, `sst::decree_words_of(view)` of them.
[[nodiscard]] std::vector<std::uint64_t> encode(const Decree& decree, const View& view);
/// Checks every word. Nothing: no decree of this view.
[[nodiscard]] std::optional<Decree> decode(std::span<const std::uint64_t> words, const View& view);

/// The members of the view after `view`: those that stay in their order, then the newcomers. Its subgroups are `layout`'s
/// and those that the roster, which is this one, adds.
[[nodiscard]] View successor(const View& view, const Decree& decree, const LayoutFunction& layout,
                             const Roster& roster = {});
/// By subgroup of `next`: the members that have its state when `next` begins. Where nobody has it, all of the subgroup begin
/// with none; if somebody had it in `view` (`before`), the subgroup is appended to `lost`, be it adequate or not. Of what is
/// dropped nobody has a state, and nobody is told so; nor of a subgroup whose log is elsewhere.
[[nodiscard]] std::vector<RankSet> loaded_in(const View& next, const View& view, const std::vector<RankSet>& before,
                                             const Decree& decree, std::vector<SubgroupId>& lost);

}  // namespace spindrift::views
