// The options that every command which reads a configuration shares: --config, --id, --set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>

namespace CLI {
class App;
}

namespace spindrift::tools {

struct MemberOptions {
  std::string config;
  std::optional<std::uint32_t> id;
  std::vector<std::string> settings;  ///< "SECTION/key=value"
};

/// --config, --id and --set.
void add_member_options(CLI::App& command, MemberOptions& options);
/// --set alone, for commands that name the file otherwise.
void add_set_option(CLI::App& command, MemberOptions& options);

/// --set and --id as the configuration takes them. Throws bad_argument if a --set is not SECTION/key=value.
[[nodiscard]] std::vector<ConfigOverride> overrides_of(const MemberOptions& options);
/// The configuration with the options applied. Throws bad_config, bad_argument, bad_input.
[[nodiscard]] Config load_config(const MemberOptions& options);

}  // namespace spindrift::tools
