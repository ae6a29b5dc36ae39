// From plans to a view: which member is in which subgroup. A pure function, so that every member that reads the same
// configuration computes the same view.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::config {

/// The members when the configuration names none: the ids that the layout names, ascending; if it names none, 0 up to the
/// smallest group that satisfies its minima. Empty if the layout says neither.
[[nodiscard]] std::vector<NodeId> members_of(const Layout& layout);

/// Assigns `members` (in rank order, no duplicates, at least one) to the plans, as Derecho does:
///  - a reserved id is a member of every plan that reserves it, and of no plan that does not;
///  - of the rest, in rank order, each plan in turn takes what it lacks to its minimum;
///  - then each plan in turn takes one more, as long as it has fewer than its maximum and nodes are left.
/// A node that is not reserved is thus in one assigned plan at most. Plain plans have the members they name. Members and
/// senders of every subgroup are in rank order. `profiles` holds every profile by name. Appends to `problems` why it cannot
/// be done, with the plan's place.
[[nodiscard]] View resolve(const Layout& layout, const std::vector<NodeId>& members,
                           const std::map<std::string, Profile, std::less<>>& profiles, const LayoutSource& source,
                           std::vector<Error>& problems);

}  // namespace spindrift::config
