// The addresses and ports at which members listen, judged while a configuration is loaded.
#pragma once

#include <vector>

#include <spindrift/core/config/load.hpp>

namespace spindrift::config {

/// On every fabric but shm each member has an address, another than everybody else's; where contacts tell of the nodes, they
/// tell that as well.
void check_addresses(Loaded& loaded, const std::vector<NodeId>& members, std::vector<Error>& problems);
/// Observers and clients call members at their addresses, at ports that nobody else listens at.
void check_other_ports(Loaded& loaded, const std::vector<NodeId>& members, std::vector<Error>& problems);
/// Each entry of client_rights is a right.
void check_client_rights(Loaded& loaded, std::vector<Error>& problems);
/// Clients of other hosts call members that have keys. Once it is known whether they have.
void check_client_proofs(Loaded& loaded, std::vector<Error>& problems);

}  // namespace spindrift::config
