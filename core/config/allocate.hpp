// Which member of a view is in which subgroup. A pure function of the configuration, the members and the view before, so
// that members who agree on these agree on the subgroups without another word.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <spindrift/core/config/layout.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::config {

using Profiles = std::map<std::string, Profile, std::less<>>;

/// How many members an assigned plan needs beyond those that it reserves.
[[nodiscard]] std::size_t missing(const SubgroupPlan& plan);

/// The subgroups of a view of `members` (in rank order, no duplicates): one for each plan, in the plans' order. `previous`
/// is the view before, made by this function from the same layout, or null.
///
/// The members of a plan:
///  - of the plain form: the members that it names, as far as they are there; if it names none, all members;
///  - of Derecho's form: the members that it reserves, as far as they are there, and of those that no plan reserves (the
///    pool) what fills it up. A member of the pool is in one such plan at most, a reserved one in those that reserve it;
///  - of the plain form with shards: what fills it up of the members that it names, if it names none, of all: a pool that
///    its shards have to themselves.
/// How plans are filled up from their pool:
///  1. A member that was in the subgroup stays.
///  2. Each plan in turn takes from the spare members what it lacks to its minimum, or none if there are too few.
///  3. Where that failed, the members become spare too, and each such plan in turn tries again with them.
///  4. Each plan in turn takes one more, while it has fewer than its maximum, reserved ones counted, and while more members
///     are spare than the plans without their minimum wait for. Of a plain subgroup's shards the smallest takes it, the
///     first of several.
/// So a member never leaves a subgroup that has its minimum, and a reserved newcomer may bring it above its maximum.
///
/// A subgroup is inadequate, that is, without members in this view and with the reason, if it stays below its minimum, or
/// if it names senders and none of them is there. What is left of it is not remembered: in the next view it starts anew.
[[nodiscard]] std::vector<SubgroupView> allocate(const Layout& layout, const Profiles& profiles,
                                                 const std::vector<NodeId>& members, const View* previous);

}  // namespace spindrift::config
