// A group's directory, by either of its names.
#include "group_option.hpp"

#include <filesystem>

#include <CLI/CLI.hpp>

#include <spindrift/core/config/without_file.hpp>
#include <spindrift/core/runtime_path.hpp>

namespace spindrift::tools {

CLI::Option* add_group_name_option(CLI::App& command, std::string& name, const std::string& description) {
  const auto refuse_empty = [](const std::string& text) {
    return text.empty() ? "the name is empty; the group of this user and host has none to be given" : "";
  };
  return command.add_option("--group", name, description)->type_name("NAME")->check(refuse_empty, "");
}

void add_group_options(CLI::App& command, GroupCommandOptions& options) {
  CLI::Option* config = command.add_option("--config", options.config, "The group's configuration file")
                            ->type_name("FILE")
                            ->check(named_file, "");
  command.add_option("--group-dir", options.directory, "The group's directory, in place of --config")
      ->type_name("DIRECTORY")
      ->check(
          [](const std::string& text) {
            return text.empty() ? "the directory's name is empty, as by a variable that is not set; give its path" : "";
          },
          "");
  const std::string whose = "The name of a group of this user and host that has no file; by default ";
  add_group_name_option(command, options.group, whose + default_group_name);
  add_set_option(command, options)->needs(config);
}

GroupPlace place_of(const GroupCommandOptions& options) {
  const int names = (options.directory.empty() ? 0 : 1) + (options.config.empty() ? 0 : 1) + (options.group.empty() ? 0 : 1);
  if (names > 1) {
    throw Exception(Error(ErrorKind::bad_argument, "the group is named twice")
                        .fix("give one of --config FILE, --group NAME and --group-dir DIRECTORY"));
  }
  if (names == 0) return place_of(value_or_throw(config_without_file()));
  if (!options.group.empty()) return place_of(value_or_throw(config_without_file(options.group)));
  if (!options.config.empty()) return place_of(load_config_with_warnings(options));
  std::error_code ignored;  // a directory that does not exist has a name, too
  auto path = std::filesystem::weakly_canonical(options.directory, ignored);
  if (path.empty()) path = std::filesystem::path(options.directory).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // it was written with a slash at its end
  return {path.string(), path.filename().string()};
}

GroupPlace place_of(const Config& config) {
  return {group_directory(config.runtime_directory(), config.group_name()), config.group_name()};
}

GuardedDirectory opened(const GroupPlace& place) {
  const std::size_t slash = place.directory.rfind('/', place.directory.find_last_not_of('/'));
  const std::string above = slash == std::string::npos ? "." : place.directory.substr(0, slash);
  return value_or_throw(GuardedDirectory::open(above, place.name));
}

}  // namespace spindrift::tools
