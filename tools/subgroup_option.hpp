// The subgroup that a command works on, checked against the configuration before it joins: a mistaken name must not cost
// the others two changes of the view.
#pragma once

#include <optional>
#include <string>

#include <spindrift/core/config/config.hpp>
#include <spindrift/group/group.hpp>

#include "options.hpp"

namespace spindrift::tools {

/// The options of commands that work on one subgroup and need no file: without one they create it, if nobody has.
struct SubgroupCommandOptions : CommandOptions {
  std::string subgroup;
  std::string group;  ///< without a file; empty: this user's on this host
};

/// The subgroup, by place or as --subgroup, and --config, --group, --id, --set. `does` says what the command does to it.
void add_subgroup_options(CLI::App& command, SubgroupCommandOptions& options, const std::string& does);
/// The configuration with the options applied: the file's, or that of a group without one. Throws as `load_config`.
[[nodiscard]] Config load_subgroup_config(const SubgroupCommandOptions& options);

/// That a subgroup can have the name. Throws bad_argument, with what is wrong with it.
void require_subgroup_name(const std::string& name, const std::string& place);

enum class SubgroupUse { receive, send };

/// That the subgroup is there, in the configuration or created since the group runs, and the member that is to be observed
/// is in it. Throws bad_argument otherwise.
void require_observable(const Config& config, const std::string& name, std::optional<NodeId> source);
/// The subgroup in a view of all members. Throws bad_argument if there is none of that name, or this node is not a member,
/// or not a sender where it must be; where it may have been created and no member runs on this host, that is found out
/// later. Where the group has no file it may also be created later: as it would be, if the name is possible.
SubgroupView require_subgroup(const Config& config, const SubgroupCommandOptions& options, SubgroupUse use);
/// Whether the configuration has a subgroup of that name; all others are created while the group runs.
[[nodiscard]] bool is_of_layout(const Config& config, const std::string& name);
/// The same in the group that this process has joined; where that has no file it is created if nobody has. Throws as
/// Group::create_subgroup.
[[nodiscard]] Subgroup& use_subgroup(Group& group, const SubgroupCommandOptions& options);

}  // namespace spindrift::tools
