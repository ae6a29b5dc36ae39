// The queue pairs of a device over libfabric share this.
#pragma once

#include <rdma/fabric.h>

#include <variant>

#include <spindrift/fabric/ofi/library.hpp>
#include <spindrift/kernel/device_parts.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/peer_table.hpp>

namespace spindrift::kernel::ofi {

using fabric::ofi::Handle;
using fabric::ofi::made_by;
using fabric::ofi::ofi_error;
using fabric::ofi::outcome_of;

/// Libfabric is asked for an address when a queue pair first talks to the peer.
using Peers = PeerTable<OfiName, std::monostate>;

struct OfiShared : DeviceShared {
  Peers peers;

  /// Whether a copy of its bytes is made for the provider, so that it can be given up with the provider still at it.
  [[nodiscard]] bool fits_copy(const PhysicalOperation& operation) const noexcept {
    return operation.bytes + operation.header.size() <= sizes.message_bytes_max;
  }
};

}  // namespace spindrift::kernel::ofi
