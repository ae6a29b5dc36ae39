// Which RDMA devices there are, under which addresses, and which GID rdma_cm takes for a connection.
#pragma once

#include <string>

#include <spindrift/core/fabric/verbs/library.hpp>

namespace spindrift::fabric::verbs {

/// "10.0.0.1, index 3, RoCE v2: that of the node's address": for people, of an identity that is bound to a device.
[[nodiscard]] std::string gid_in_use(rdma_cm_id& bound);

}  // namespace spindrift::fabric::verbs
