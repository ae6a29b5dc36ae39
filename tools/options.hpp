// How every command takes its options: what all share, and how one is added.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>

#include "commands.hpp"

namespace spindrift::tools {

inline constexpr std::uint32_t node_id_max = 0xffff'fffe;

/// The options that commands share; a command that takes more derives from it.
struct CommandOptions {
  std::string config;
  std::optional<std::uint32_t> id;
  std::vector<std::string> settings;  ///< "SECTION/key=value"
  bool json = false;
  bool quiet = false;
};

/// --config, which it returns, --id and --set.
CLI::Option* add_member_options(CLI::App& command, CommandOptions& options);
/// --set alone, for commands that name the file otherwise.
CLI::Option* add_set_option(CLI::App& command, CommandOptions& options);
/// --quiet, for commands that join.
void add_quiet_option(CLI::App& command, CommandOptions& options);
/// --json; `prints` says what.
void add_json_option(CLI::App& command, CommandOptions& options, const std::string& prints = "Print JSON");

struct CommandText {
  const char* name;
  const char* description;
  std::string footer{};  ///< of its help, before the exit codes; empty: neither
};

/// Adds a command without options.
CLI::App* add_command(CLI::App& parent, const CommandText& text, std::function<void()> on_parsed);

/// Adds a command that, when it is parsed, chooses `run` with `options` as the work.
template <class Options>
CLI::App* add_command(CLI::App& parent, Work& chosen, const CommandText& text, const std::shared_ptr<Options>& options,
                      int (*run)(const Options&)) {
  return add_command(parent, text, [options, run, &chosen] { chosen = [options, run] { return run(*options); }; });
}

/// Checks the value of an option that names a file: empty if it names one, else what is wrong.
[[nodiscard]] std::string named_file(const std::string& text);
/// --set and --id as the configuration takes them. Throws bad_argument if a --set is not SECTION/key=value.
[[nodiscard]] std::vector<ConfigOverride> overrides_of(const CommandOptions& options);
/// The configuration with the options applied. Throws bad_config, bad_argument, bad_input.
[[nodiscard]] Config load_config(const CommandOptions& options);
/// The same for a command that joins no group, which would warn: it warns of keys without effect.
[[nodiscard]] Config load_config_with_warnings(const CommandOptions& options);

}  // namespace spindrift::tools
