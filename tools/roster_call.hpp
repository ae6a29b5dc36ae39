// A call for another roster, through a member of the group that runs on this host.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <spindrift/core/roster.hpp>

#include "group_option.hpp"

namespace spindrift::tools {

/// Options of a group command, with --through and --timeout.
struct RosterCallOptions : GroupCommandOptions {
  std::optional<std::uint32_t> through;
  std::uint32_t timeout_ms = 10'000;
};
void add_roster_call_options(CLI::App& command, RosterCallOptions& options);

/// The member that is asked, and whom its status counts as members.
struct Asked {
  NodeId node;
  std::vector<NodeId> members;
};

/// The lowest node of the group that runs here, unless the user says which; one that stays, if there is one, for who leaves
/// cannot tell what became of it. Throws member_lost if none runs here.
[[nodiscard]] Asked member_here(const RosterCallOptions& options, const GroupPlace& place,
                                const std::vector<RosterChange>& changes);
/// The roster, as the member that is asked has it when these changes are made. Throws as group::change_roster_through.
[[nodiscard]] Roster roster_with(const RosterCallOptions& options, const GroupPlace& place, NodeId through,
                                 std::vector<RosterChange> changes);

}  // namespace spindrift::tools
