// `spindrift log adopt`: the way out where those that have a log are gone for good, and a member has an earlier part of it.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

void add_adopt_command(CLI::App& log, Work& chosen);

}  // namespace spindrift::tools
