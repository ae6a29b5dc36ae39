// The question before a command does what cannot be undone.
#pragma once

#include <string>

#include <spindrift/core/result.hpp>

namespace spindrift::tools {

/// Asks on the terminal, on standard error, and takes "yes" alone for consent. Throws `nobody` if standard input is no
/// terminal.
[[nodiscard]] bool says_yes(const std::string& question, const Error& nobody);

}  // namespace spindrift::tools
