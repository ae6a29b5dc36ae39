// A leader's own decree, where there is none to repeat: who goes, who comes, and how much all deliver. Pure.
#pragma once

#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/sst/table.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/rank_set.hpp>
#include <spindrift/views/roster_agreement.hpp>

namespace spindrift::views {

/// A process that could be taken into the next view.
struct Candidate {
  Join who;
  RankSet linked;     ///< members of the present view that have a connection with it, by their own words
  Versions speaks{message_form, message_form};
  bool operator==(const Candidate&) const noexcept = default;
};

/// A decree is made of this. All members that are not in `failed` are wedged: their counts are final.
struct Composition {
  const View& view;
  const std::vector<RankSet>& loaded;  ///< by subgroup, the members that had its state when the view began
  const sst::Table& table;
  RankSet failed;
  RankSet leaving;  ///< none of `failed`
  /// By subgroup: members that have its log, which nobody in the view had. Null: there is none.
  const std::vector<RankSet>* logs_found = nullptr;
};

/// `candidates`: those with which every member that stays is linked.
[[nodiscard]] Decree compose(const Composition& of, const std::vector<Candidate>& candidates);
/// The same with another roster, if all that stay hold it; a newcomer may be in that one alone.
[[nodiscard]] Decree compose_with_roster(const Composition& of, const RosterAgreement& rosters,
                                         std::vector<Candidate> candidates);

}  // namespace spindrift::views
