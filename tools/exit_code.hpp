// The exit codes of the command: one table, from which the code, `--help` and the manual page come.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <spindrift/core/result.hpp>

namespace spindrift::tools {

enum class ExitCode : int {
  success = 0,
  failure = 1,
  usage = 2,
  refused = 3,
  member_lost = 4,
  timed_out = 5,
  group_closed = 6,
  resource = 7,
  unsupported = 8,
  removed = 9,
  no_majority = 10,
  interrupted = 130,
};

struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};

/// Every code with its meaning, ascending.
[[nodiscard]] std::span<const ExitCodeMeaning> exit_codes();
/// The table as text for the end of a help page.
[[nodiscard]] std::string exit_codes_text();
[[nodiscard]] ExitCode exit_code_of(ErrorKind kind) noexcept;
/// The number that `main` returns.
[[nodiscard]] constexpr int number(ExitCode code) noexcept { return static_cast<int>(code); }

}  // namespace spindrift::tools
