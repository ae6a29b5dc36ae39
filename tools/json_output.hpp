// JSON for programs that run the command: each object says which version of its kind it has, and docs/schemas describes the
// kinds.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <spindrift/core/result.hpp>

namespace spindrift::tools {

/// The object with its version. A version grows when a field goes, or means something else, and not when one is added.
[[nodiscard]] nlohmann::json versioned(int version, nlohmann::json object);

/// A 64-bit identity, as the tables for people have it: many readers of JSON round a number beyond 2^53.
[[nodiscard]] std::string identity_text(std::uint64_t identity);

/// The parts of an error: kind, place, message, cause and fix, all of them texts, which are empty if nothing is known. The
/// cause is the whole chain of causes; the fix the most specific one.
[[nodiscard]] nlohmann::json json_of(const Error& error);
[[nodiscard]] nlohmann::json json_of(const std::vector<Error>& errors);

/// One line without its end. Bytes that are no UTF-8 become replacement characters.
[[nodiscard]] std::string one_line_of(const nlohmann::json& json);
/// Prints it on standard output, over several lines for whoever reads along.
void print_document(const nlohmann::json& json);

}  // namespace spindrift::tools
