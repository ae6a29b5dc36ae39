// Subgroups that a program creates and drops: what it leaves open of one, and whether there is one to be dropped.
#pragma once

#include <span>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/roster.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::group {

/// Counters are kept of so many subgroups that are created in a process's time, by name.
inline constexpr std::size_t counted_created_max = 512;

/// Fills in what is 0 of the profile: as [SUBGROUP/DEFAULT] has it, and rings that fit. Nodes are put in order. Errors:
/// as profile_of().
[[nodiscard]] Result<void> complete(AddedSubgroup& subgroup, const Config& config);
/// The same for one that is to change: what is 0 of the profile stays as the view has it. Of one of the layout's that makes
/// a change of its rings. Errors: bad_argument: something else of that one is to change.
[[nodiscard]] Result<void> complete_change(RosterChange& change, const View& view);
/// Whether each of these drops is of a subgroup that is there, or created by a change in front of it. Errors: bad_argument.
[[nodiscard]] Result<void> check_drops(std::span<const RosterChange> changes, const View& view);

}  // namespace spindrift::group
