// Whether members that have lost the majority of their view may be told to go on without the rest. Pure.
// (docs/protocol.md, "Revival")
#pragma once

#include <optional>
#include <span>
#include <string>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/mandate.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

class Epoch;
class Links;
class ViewChange;

/// The knowledge of the member that is told.
struct Revivable {
  const View& view;
  RankSet suspected{};  ///< with them it cannot go on: it has parted from them
  RankSet over{};       ///< their processes have ended for certain
  std::uint64_t attempt = 1;  ///< the next one of this view
};

[[nodiscard]] Revivable revivable(Epoch& present, const Links& links);

/// The members that are neither named nor known to have ended, if they would be a majority, which may have gone on
/// elsewhere; else none. To give them up takes force.
[[nodiscard]] RankSet majority_that_may_live(const Revivable& about, const RankSet& named);
/// "2,3,4": the nodes of those ranks.
[[nodiscard]] std::string nodes_in(const View& view, const RankSet& ranks);

/// The ranks of those members. `force`: also if the rest may be a majority that has gone on elsewhere.
/// Errors: bad_argument (none, twice, no member, this one is not named, or one that it has parted from is); refused (the
/// rest may be a majority); unsupported (a view of this version cannot be revived, or was to be too often).
[[nodiscard]] Result<RankSet> named_to_go_on(const Revivable& about, Rank self, std::span<const NodeId> members, bool force);

/// Takes the word of those who run the group, of which another member of the view tells. One that comes under an attempt
/// that is over here was given to somebody who had not heard of that: if this member of that rank can take it up, it counts
/// under the next attempt, and is returned, to be told to all whom it names.
[[nodiscard]] std::optional<Revival> hear_revival(ViewChange& change, Rank self, const Revival& word);

}  // namespace spindrift::views
