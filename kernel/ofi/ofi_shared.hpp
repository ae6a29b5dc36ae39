// The queue pairs of a device over libfabric share this, and tell the outcomes of libfabric's calls in this way.
#pragma once

#include <rdma/fabric.h>

#include <string_view>
#include <utility>
#include <variant>

#include <spindrift/fabric/ofi/library.hpp>
#include <spindrift/kernel/device_parts.hpp>
#include <spindrift/kernel/ofi/ofi_name.hpp>
#include <spindrift/kernel/peer_table.hpp>

namespace spindrift::kernel::ofi {

using fabric::ofi::Handle;
using fabric::ofi::ofi_error;

/// Success, or the error of that call of libfabric, which answered with this number.
[[nodiscard]] inline Result<void> outcome_of(std::string_view call, long answer) {
  if (answer == 0) return {};
  return ofi_error(call, answer);
}

/// The object that a call of libfabric has made: `make(&object)` answers as libfabric does. Errors: resource.
template <class Object, class Make>
[[nodiscard]] Result<Handle<Object>> made_by(std::string_view call, Make&& make) {
  Object* object = nullptr;
  SPINDRIFT_TRY(outcome_of(call, make(&object)));
  return Handle<Object>(object);
}

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
