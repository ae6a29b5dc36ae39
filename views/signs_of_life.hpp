// Messages by which a member shows that it lives to those who do not see its heartbeat: they are in a view, or will be, in
// which its row is not there yet. All say that it is not through with the view before.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <spindrift/views/compose.hpp>
#include <spindrift/views/epoch.hpp>
#include <spindrift/views/messages.hpp>

namespace spindrift::views {

/// The member's view is decided to end, and its application is at work on it; nothing: it is not, and nobody is told.
[[nodiscard]] std::vector<Addressed> signs_of_life(const Epoch& old, std::optional<SubgroupId> at_work);
/// The member stands still in the middle of a pass, whatever its view is about.
[[nodiscard]] std::vector<Addressed> signs_amid_pass(const Epoch& present, std::span<const Candidate> candidates,
                                                     SubgroupId at_work);
/// The process stands still on its way into its first view, which the others may have begun.
[[nodiscard]] std::vector<Addressed> signs_before_the_first(const View& first, NodeId self, SubgroupId at_work);

}  // namespace spindrift::views
