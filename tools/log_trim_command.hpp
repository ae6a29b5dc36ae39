// `spindrift log trim`: the first messages of a log go, for room on the disk of a member that runs.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

void add_trim_command(CLI::App& log, Work& chosen);

}  // namespace spindrift::tools
