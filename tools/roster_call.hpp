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

/// The member that answered, whom its status counts as members, and the roster as it has it.
struct Answered {
  NodeId node;
  std::vector<NodeId> members;
  Roster roster;
};

/// The roster, when these changes are made: none asks for it as it is. Asks the lowest node of the group that runs here,
/// unless the user says which; one that stays, if there is one, for who leaves cannot tell what became of it. If it ends
/// before it answers, another one is asked: changes that were made are not made again. Throws member_lost if none runs here,
/// and as group::change_roster_through.
[[nodiscard]] Answered ask_group(const RosterCallOptions& options, const GroupPlace& place,
                                 const std::vector<RosterChange>& changes);

}  // namespace spindrift::tools
