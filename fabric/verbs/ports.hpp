// Which RDMA devices there are, under which addresses, and which GID rdma_cm takes for a connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <spindrift/fabric/verbs/library.hpp>

namespace spindrift::fabric::verbs {

/// All that are set, of all ports of the device.
[[nodiscard]] std::vector<ibv_gid_entry> gids_of(ibv_context& context);
/// Whether it says nothing beyond the link that it is on (fe80::/10).
[[nodiscard]] bool within_the_link(const ibv_gid& gid) noexcept;

/// The port's entry that rdma_cm takes for an identity that is bound to a device; of two kinds that of RoCE v2.
[[nodiscard]] std::optional<ibv_gid_entry> gid_entry_in_use(rdma_cm_id& bound);
/// "10.0.0.1, index 3, RoCE v2: that of the node's address": for people, of an identity that is bound to a device.
[[nodiscard]] std::string gid_in_use(rdma_cm_id& bound);

}  // namespace spindrift::fabric::verbs
