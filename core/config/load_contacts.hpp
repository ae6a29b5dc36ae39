// Contacts tell the nodes of a group that runs: members and founders of a configuration that has some. Parts of load().
#pragma once

#include <vector>

#include <spindrift/core/config/load.hpp>

namespace spindrift::config {

/// Whether members of the group are asked who is in it.
[[nodiscard]] bool asks_contacts(Loaded& loaded);
/// Whether it is they alone who say which nodes there are.
[[nodiscard]] bool told_by_contacts(Loaded& loaded);
/// Whether this node founds the group alone, if no contact is in one.
[[nodiscard]] bool bootstraps(Loaded& loaded);

/// The only node of which such a configuration knows: its own.
[[nodiscard]] std::vector<NodeId> own_node(Loaded& loaded);
/// The founders of a node that bootstraps, or is told by contacts and founds nothing.
void load_founders_by_contacts(Loaded& loaded, std::vector<Error>& problems);
/// Contacts are asked over TCP, and before anybody founds a group alone.
void check_contacts(Loaded& loaded, std::vector<Error>& problems);

}  // namespace spindrift::config
