// Why a member ends, or is removed, in words for people. Pure.
#pragma once

#include <optional>
#include <string>

#include <spindrift/core/result.hpp>
#include <spindrift/views/deliveries.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/links.hpp>
#include <spindrift/views/new_view.hpp>

namespace spindrift::views {

/// The decree that ends the present view has this member gone: the others removed it, or gave it up by a revival.
[[nodiscard]] Error gone_error(const Epoch& present);
/// Why the present view goes on without that member.
[[nodiscard]] Removal removal_of(NodeId node, Rank rank, const Epoch& old);
[[nodiscard]] Error lagging_error(const Deliveries::Lag& lag, const Epoch& present);
/// Others have taken up that subgroup's log, which may lack what this member's application was given of it.
[[nodiscard]] Error set_back_error(SubgroupId subgroup, const Epoch& present);
/// This member has lost the majority of its view, or was removed by it, as far as it can tell.
[[nodiscard]] Error lost_majority(Epoch& present);
/// The words for the others, which know better than this member what became of those that it misses.
[[nodiscard]] std::string last_words(const Error& failure);
/// Why this member cannot go on, if what it heard of a later view says so. `waits`: it is stranded. One that takes part in a
/// revival itself may still be behind those that do, too.
[[nodiscard]] std::optional<Error> overtaken(Epoch& present, bool waits, const LinkOvertaken& heard);

}  // namespace spindrift::views
