// `spindrift group forget`.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

void add_forget_command(CLI::App& group, Work& chosen);

}  // namespace spindrift::tools
