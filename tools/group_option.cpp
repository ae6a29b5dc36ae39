// A group's directory, by either of its names.
#include "group_option.hpp"

#include <filesystem>

#include <CLI/CLI.hpp>

#include <spindrift/core/runtime_path.hpp>

namespace spindrift::tools {

void add_group_options(CLI::App& command, GroupCommandOptions& options) {
  CLI::Option* config =
      command.add_option("--config", options.config, "The group's configuration file")->type_name("FILE");
  command.add_option("--group-dir", options.directory, "The group's directory, in place of --config")
      ->type_name("DIRECTORY");
  add_set_option(command, options)->needs(config);
}

GroupPlace place_of(const GroupCommandOptions& options) {
  if (options.directory.empty() == options.config.empty()) {
    throw Exception(Error(ErrorKind::bad_argument, "the group is not named, or named twice")
                        .fix("give either --config FILE or --group-dir DIRECTORY"));
  }
  if (options.directory.empty()) return place_of(load_config_with_warnings(options));
  std::error_code ignored;  // a directory that does not exist has a name, too
  const auto path = std::filesystem::weakly_canonical(options.directory + "/", ignored);
  return {options.directory, path.parent_path().filename().string()};
}

GroupPlace place_of(const Config& config) {
  return {group_directory(config.runtime_directory(), config.group_name()), config.group_name()};
}

}  // namespace spindrift::tools
