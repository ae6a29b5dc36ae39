// The end of every program's `main`: parses the command line, runs what was chosen, turns errors into messages and exit
// codes.
#pragma once

#include "commands.hpp"

namespace spindrift::tools {

/// `chosen` is set by the commands of `app`, by whose name messages begin. Returns the exit code.
[[nodiscard]] int run_program(CLI::App& app, const Work& chosen, int argument_count, char** arguments);

}  // namespace spindrift::tools
