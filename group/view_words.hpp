// Words about a view that begins, for people. Pure, but for the log.
#pragma once

#include <string>
#include <vector>

#include <spindrift/core/view.hpp>

namespace spindrift::group {

/// The nodes whose releases keep the group at the roster's version, which the own one has left behind. Empty: none.
[[nodiscard]] std::string words_of_version(const Roster& roster, const std::vector<NodeId>& behind);
/// Says that the group goes on to a later version of the protocol.
void warn_of_version(const View& before, const View& now);
/// Says which subgroups are inadequate, and why.
void warn_of_inadequate(const View& view);

}  // namespace spindrift::group
