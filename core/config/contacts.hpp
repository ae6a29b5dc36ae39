// Configurations that leave it to members of the group to say which nodes there are.
#pragma once

#include <string>
#include <vector>

#include <spindrift/core/config/config.hpp>

namespace spindrift {

/// The addresses at which members are asked for the roster, "host:port" each; empty: nobody is asked.
[[nodiscard]] std::vector<std::string> contacts_of(const Config& config);
/// Whether the configuration says which nodes begin the group, so that it can do without the answer of a contact.
[[nodiscard]] bool can_begin_group(const Config& config);
/// Whether somebody has set this process's id.
[[nodiscard]] bool has_local_id(const Config& config);
/// The same configuration with the nodes and addresses of that roster, as that node's, which is in it; it founds nothing,
/// and has no contacts left to ask. Its view has that roster.
[[nodiscard]] Config as_node_of(const Config& config, const Roster& roster, NodeId node);

}  // namespace spindrift
