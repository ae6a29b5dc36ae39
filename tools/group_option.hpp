// The group that a command looks at from outside, without being in it: named by its configuration, or by its directory.
#pragma once

#include <string>

#include <spindrift/core/guarded_directory.hpp>

#include "options.hpp"

namespace spindrift::tools {

/// --config, or --group or --group-dir in its place.
struct GroupCommandOptions : CommandOptions {
  std::string directory;
  std::string group;  ///< one without a file
};

/// The directory in which a group keeps the files of its nodes of this host.
struct GroupPlace {
  std::string directory;
  std::string name;  ///< of the group
};

/// --group: the name of a group without a file, which is not empty.
CLI::Option* add_group_name_option(CLI::App& command, std::string& name, const std::string& description);
/// --config, --group-dir, --group and --set.
void add_group_options(CLI::App& command, GroupCommandOptions& options);
/// The group of this user on this host that has no file, where none is named. Throws bad_argument if it is named twice; else
/// as `load_config`.
[[nodiscard]] GroupPlace place_of(const GroupCommandOptions& options);
/// The place of the group of a configuration.
[[nodiscard]] GroupPlace place_of(const Config& config);

/// That directory, checked and opened. Throws what GuardedDirectory::open refuses with.
[[nodiscard]] GuardedDirectory opened(const GroupPlace& place);

}  // namespace spindrift::tools
