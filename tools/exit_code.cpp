// The table of exit codes.
#include "exit_code.hpp"

#include <fmt/format.h>

namespace spindrift::tools {
namespace {

constexpr ExitCodeMeaning table[] = {
    {ExitCode::success, "done"},
    {ExitCode::failure, "the run failed: results differ, or the input is broken"},
    {ExitCode::usage, "wrong usage or configuration; nothing was started"},
    {ExitCode::refused,
     "refused: another member's configuration or version differs, the node id is in use, others could change a file or "
     "directory, or this node's certificate is revoked"},
    {ExitCode::member_lost, "a process was lost before it was done"},
    {ExitCode::timed_out, "others did not come, or did not finish, in the configured time"},
    {ExitCode::group_closed, "this member was out of the group, or its subgroup was dropped, before the command was done"},
    {ExitCode::resource, "the operating system refused: memory, files, permissions, space on a disk"},
    {ExitCode::unsupported, "this machine cannot do it"},
    {ExitCode::removed,
     "the others go on without this member: it was silent or unreachable for too long, broke the protocol, or a revival "
     "gave it up"},
    {ExitCode::no_majority,
     "less than a majority of the view was left here, and the rest may go on elsewhere; or none of those that have a log"},
    {ExitCode::interrupted, "interrupted by a signal before the run was done"},
};

}  // namespace

std::span<const ExitCodeMeaning> exit_codes() { return table; }

std::string exit_codes_text() {
  std::string text = "Exit codes:\n";
  for (const auto& [code, meaning] : table) text += fmt::format("  {:<5}{}\n", number(code), meaning);
  return text;
}

ExitCode exit_code_of(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::bad_config:
    case ErrorKind::bad_argument: return ExitCode::usage;
    case ErrorKind::bad_input:
    case ErrorKind::lagging:
    case ErrorKind::handler_failed: return ExitCode::failure;
    case ErrorKind::refused: return ExitCode::refused;
    case ErrorKind::removed:
    case ErrorKind::given_up: return ExitCode::removed;
    case ErrorKind::no_majority: return ExitCode::no_majority;
    case ErrorKind::member_lost: return ExitCode::member_lost;
    case ErrorKind::group_closed: return ExitCode::group_closed;
    case ErrorKind::would_block:
    case ErrorKind::timed_out: return ExitCode::timed_out;
    case ErrorKind::disk_full:
    case ErrorKind::resource: return ExitCode::resource;
    case ErrorKind::unsupported: return ExitCode::unsupported;
  }
  return ExitCode::failure;
}

}  // namespace spindrift::tools
