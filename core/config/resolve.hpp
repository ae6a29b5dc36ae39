// From plans to the view of all configured members, and whether there can be one: a layout that not even they satisfy is an
// error of the configuration, found before anything starts.
#pragma once

#include <vector>

#include <spindrift/core/config/allocate.hpp>
#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::config {

/// The members when the configuration names none: the ids that the layout names, ascending; if it names none, 0 up to the
/// smallest group that satisfies its minima. Empty if the layout says neither.
[[nodiscard]] std::vector<NodeId> members_of(const Layout& layout);

/// Appends to `problems`, with the plan's place, what is wrong with each plan by itself: ids that are no members, profiles
/// that do not exist, a minimum above the members of the plain form. `members` and `profiles` are as for resolve().
void check_plans(const Layout& layout, const std::vector<NodeId>& members, const Profiles& profiles,
                 const LayoutSource& source, std::vector<Error>& problems);

/// Appends to `problems`, if a subgroup is logged, why none can be, at the place of the first one; and that too many are, at
/// that of the first of these. `reasons` are as Plans::unloggable has them.
void check_logged(const Layout& layout, const std::vector<Error>& reasons, const LayoutSource& source,
                  std::vector<Error>& problems);

/// Appends to `problems`, for each entry of the layout whose subgroups can have no such history, why that is; once for the
/// shards of one. Profiles that do not exist are not its matter.
void check_histories(const Layout& layout, const Profiles& profiles, const LayoutSource& source,
                     std::vector<Error>& problems);

/// Words for people about the histories that are kept: how much memory each costs a member; once for the shards of one
/// entry.
[[nodiscard]] std::vector<std::string> notes_of_histories(const Layout& layout, const Profiles& profiles,
                                                          const LayoutSource& source);

/// The first view of `members` (in rank order, no duplicates, at least one), as allocate() makes it. `profiles` holds every
/// profile by name. Appends to `problems` what check_plans() does, and subgroups that stay inadequate for another reason.
[[nodiscard]] View resolve(const Layout& layout, const std::vector<NodeId>& members, const Profiles& profiles,
                           const LayoutSource& source, std::vector<Error>& problems);

}  // namespace spindrift::config
