// Which journal of this host a command is to look at.
#pragma once

#include "log_output.hpp"
#include "options.hpp"

namespace spindrift::tools {

/// That of --id, or of the only node that has one here. Throws bad_config, bad_argument, resource.
[[nodiscard]] LogTarget log_target_of(const CommandOptions& options);

}  // namespace spindrift::tools
