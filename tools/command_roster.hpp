// The commands of `spindrift group` that ask a running member, beside those that read files.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

/// add, remove, replace, move, drain and roster.
void add_roster_commands(CLI::App& group, Work& chosen);
/// revive.
void add_revive_command(CLI::App& group, Work& chosen);
/// found.
void add_found_command(CLI::App& group, Work& chosen);
/// create-subgroup, drop-subgroup and subgroups.
void add_created_subgroup_commands(CLI::App& group, Work& chosen);

}  // namespace spindrift::tools
