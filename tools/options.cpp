// The options that commands share.
#include "options.hpp"

#include <utility>

#include <CLI/CLI.hpp>

#include "exit_code.hpp"
#include "number_option.hpp"

namespace spindrift::tools {
namespace {

ConfigOverride parse_setting(const std::string& setting) {
  const auto equals = setting.find('=');
  std::string name = setting.substr(0, equals);
  const auto slash = name.rfind('/');  // a profile's section has one too, no key has
  if (equals == std::string::npos || slash == std::string::npos || slash == 0 || slash + 1 == name.size()) {
    throw Exception(
        Error(ErrorKind::bad_argument, "--set " + setting + " is not SECTION/key=value")
            .fix("write for example --set SPINDRIFT/join_timeout_ms=5000 or --set SUBGROUP/DEFAULT/window_size=64"));
  }
  return {.name = std::move(name), .value = setting.substr(equals + 1)};
}

}  // namespace

CLI::Option* add_set_option(CLI::App& command, CommandOptions& options) {
  return command.add_option("--set", options.settings, "Override a value of the configuration; may be repeated")
      ->type_name("SECTION/key=value")
      ->take_all()
      ->expected(1)
      ->allow_extra_args(false);  // else it takes the command's own words that follow
}

CLI::Option* add_member_options(CLI::App& command, CommandOptions& options) {
  CLI::Option* const config = command.add_option("--config", options.config, "Configuration file, the same for all members")
                                  ->type_name("FILE")
                                  ->check(named_file, "")
                                  ->required();
  command.add_option("--id", options.id, "This process's node id; short for --set DERECHO/local_id=N")
      ->type_name("N")
      ->check(number_from(0U, node_id_max));
  add_set_option(command, options);
  return config;
}

void add_quiet_option(CLI::App& command, CommandOptions& options) {
  command.add_flag("-q,--quiet", options.quiet, "Do not say for whom it waits before it is in a view");
}

void add_json_option(CLI::App& command, CommandOptions& options, const std::string& prints) {
  command.add_flag("--json", options.json, prints);
}

std::string named_file(const std::string& text) {
  return text.empty() ? "the file's name is empty, as by a variable that is not set; give the path of a file" : "";
}

CLI::App* add_command(CLI::App& parent, const CommandText& text, std::function<void()> on_parsed) {
  CLI::App* command = parent.add_subcommand(text.name, text.description);
  if (!text.footer.empty()) command->footer(text.footer + "\n\n" + exit_codes_text());
  command->callback(std::move(on_parsed));
  return command;
}

std::vector<ConfigOverride> overrides_of(const CommandOptions& options) {
  std::vector<ConfigOverride> overrides;
  for (const std::string& setting : options.settings) overrides.push_back(parse_setting(setting));
  if (options.id) overrides.push_back({.name = "DERECHO/local_id", .value = std::to_string(*options.id), .flag = "--id"});
  return overrides;
}

Config load_config(const CommandOptions& options) {
  return value_or_throw(Config::read(options.config, overrides_of(options)));
}

Config load_config_with_warnings(const CommandOptions& options) {
  Config config = load_config(options);
  config.warn_of_unused();
  return config;
}

}  // namespace spindrift::tools
