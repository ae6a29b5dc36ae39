// Groups of one host that whoever is present founds, and that need no file and no ids.
#pragma once

#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>

namespace spindrift {

/// The configuration of a group of this host for which nobody wrote a file: founded by whoever is present, with these
/// subgroups, of which every node is a member and a sender. All its processes name the same ones. Names have 1 to 32
/// characters of A-Z a-z 0-9 . _ - each. The environment and `overrides` count as for Config::read. Errors: bad_argument;
/// bad_config as Config::read.
[[nodiscard]] Result<Config> config_without_file(const std::string& group_name, const std::vector<std::string>& subgroups,
                                                 const std::vector<ConfigOverride>& overrides = {});

/// Whether whoever is present founds the group ([SPINDRIFT] founding); then there are no founders.
[[nodiscard]] bool founded_by_present(const Config& config);
/// Whether this process takes an id that nobody has: whoever is present founds, and nobody has set local_id, which is not
/// this process's then.
[[nodiscard]] bool takes_free_id(const Config& config);
/// The same configuration as that node's.
[[nodiscard]] Config as_node(const Config& config, NodeId node);

}  // namespace spindrift
