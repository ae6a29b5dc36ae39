// `spindrift log replay`.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

void add_replay_command(CLI::App& log, Work& chosen);

}  // namespace spindrift::tools
