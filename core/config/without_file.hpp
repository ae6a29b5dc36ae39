// Groups of one host that whoever is present founds, and that need no file and no ids.
#pragma once

#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>

namespace spindrift {

/// The group of this user on this host that has no file and for which nobody gives a name.
inline constexpr const char* default_group_name = "default";

/// The configuration of a group of this host for which nobody wrote a file: founded by whoever is present, with these
/// subgroups, of which every node is a member and a sender. All its processes name the same ones; whoever is to have others
/// beside them, such as all where none is named, creates them while the group runs (Group::create_subgroup). The names are
/// checked as in a file: a group's has 1 to 32 characters of a-z 0-9 _ -, a subgroup's 1 to 64 of A-Z a-z 0-9 _ . -. Name,
/// founding and layout `overrides` alone change, and nothing in the environment; for all else both count as for
/// Config::read. Errors: bad_config, the first problem.
[[nodiscard]] Result<Config> config_without_file(const std::string& group_name = default_group_name,
                                                 const std::vector<std::string>& subgroups = {},
                                                 const std::vector<ConfigOverride>& overrides = {});

/// Whether whoever is present founds the group ([SPINDRIFT] founding); then there are no founders.
[[nodiscard]] bool founded_by_present(const Config& config);
/// Whether this process takes an id that nobody has: whoever is present founds, and nobody has set local_id, which is not
/// this process's then.
[[nodiscard]] bool takes_free_id(const Config& config);
/// The same configuration as that node's, which is a member of it.
[[nodiscard]] Config as_node(const Config& config, NodeId node);

}  // namespace spindrift
