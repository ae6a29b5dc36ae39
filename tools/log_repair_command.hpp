// `spindrift log repair`: the way out where a journal's middle is damaged, and journals of other nodes have its messages.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

void add_repair_command(CLI::App& log, Work& chosen);

}  // namespace spindrift::tools
