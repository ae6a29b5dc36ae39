// Errors as lines of standard error.
#include "error_output.hpp"

#include <fmt/format.h>

#include "escaped.hpp"
#include "json_output.hpp"

namespace spindrift::tools {
namespace {

constexpr int error_version = 1;

/// `parts` as json_of an error has them.
std::string json_line(nlohmann::json parts, ExitCode code) {
  return one_line_of(versioned(error_version, {{"error", std::move(parts)}, {"exit_code", number(code)}})) + "\n";
}

std::string plain_line(ErrorForm form, std::string_view program, const char* kind, const std::string& message,
                       ExitCode code) {
  if (form == ErrorForm::text) return fmt::format("{}: {}\n", program, harmless(message));
  return json_line({{"kind", kind}, {"place", ""}, {"message", message}, {"cause", ""}, {"fix", ""}}, code);
}

}  // namespace

ErrorForm error_form_of(std::span<char* const> arguments) {
  bool format_follows = false;
  for (const std::string_view word : arguments) {
    if (word == "--") break;  // only names follow
    const bool json = word == "--json" || word.starts_with("--json=") || word == "--format=json";
    if (json || (format_follows && word == "json")) return ErrorForm::json;
    format_follows = word == "--format";
  }
  return ErrorForm::text;
}

std::string error_line(ErrorForm form, std::string_view program, const Error& error) {
  if (form == ErrorForm::json) return json_line(json_of(error), exit_code_of(error.kind()));
  return fmt::format("{}: {}\n", program, harmless(error.to_string()));
}

std::string interruption_line(ErrorForm form, std::string_view program, const std::string& message) {
  return plain_line(form, program, "interrupted", message, ExitCode::interrupted);
}

std::string failure_line(ErrorForm form, std::string_view program, const std::string& message) {
  return plain_line(form, program, "failed", message, ExitCode::failure);
}

std::string_view no_memory_line(ErrorForm form) noexcept {
#define SPINDRIFT_NO_MEMORY "this process gets no more memory"
#define SPINDRIFT_MORE_MEMORY "raise the limit of address space (ulimit -v), or the memory of the container or the machine"
  if (form == ErrorForm::text) return "spindrift: " SPINDRIFT_NO_MEMORY "; fix: " SPINDRIFT_MORE_MEMORY "\n";
  return "{\"error\":{\"cause\":\"\",\"fix\":\"" SPINDRIFT_MORE_MEMORY
         "\",\"kind\":\"resource\",\"message\":\"" SPINDRIFT_NO_MEMORY "\",\"place\":\"\"},\"exit_code\":7,\"version\":1}\n";
#undef SPINDRIFT_MORE_MEMORY
#undef SPINDRIFT_NO_MEMORY
}

}  // namespace spindrift::tools
