// The last word of a command that failed, on standard error: a sentence for people, or an object for programs.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <spindrift/core/result.hpp>

#include "exit_code.hpp"

namespace spindrift::tools {

enum class ErrorForm {
  text,  ///< "spindrift: place: message; because: …; fix: …"
  json,  ///< one line, as docs/schemas/error.json describes it
};

/// The form that a command line asks for: its options may be what is wrong with it, so that nothing has parsed it yet.
[[nodiscard]] ErrorForm error_form_of(std::span<char* const> arguments);

/// One line with its end, for the program of that name.
[[nodiscard]] std::string error_line(ErrorForm form, std::string_view program, const Error& error);
/// The same for the end by a signal, which is no fault of anything.
[[nodiscard]] std::string interruption_line(ErrorForm form, std::string_view program, const std::string& message);
/// The same for what is no error of ours: an exception of a library.
[[nodiscard]] std::string failure_line(ErrorForm form, std::string_view program, const std::string& message);

/// For a process that gets no more memory, not even for its last words.
[[nodiscard]] std::string_view no_memory_line(ErrorForm form) noexcept;

}  // namespace spindrift::tools
