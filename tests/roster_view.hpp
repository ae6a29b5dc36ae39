// A view for tests of rosters.
#pragma once

#include <utility>

#include <spindrift/core/view.hpp>

namespace spindrift {

/// All are members whom the roster admits.
[[nodiscard]] inline View view_with(Roster roster) {
  View view;
  for (const NodeAddress& each : roster.nodes) {
    if (roster.admits(each.node)) view.members.push_back(each.node);
  }
  view.roster = std::move(roster);
  return view;
}

}  // namespace spindrift
