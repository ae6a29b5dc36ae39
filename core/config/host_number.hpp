// The number at the end of a host's name, for `local_id = hostname`: the ordinal of a pod of a StatefulSet, whose host is
// called orders-3, or a number that hosts of a cluster have anyway (node08).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <spindrift/core/config/keys.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::config {

/// Whether a key's value stands for the number of this host's name: "hostname", for a node's own id.
[[nodiscard]] bool is_host_number(const Key& key, std::string_view text) noexcept;

/// The digits at the end of a host's name, of which only what is before the first dot counts: "orders-3.orders.svc" is 3.
/// Errors: bad_config, without place: there are none, or they are no node id.
[[nodiscard]] Result<std::uint32_t> host_number(std::string_view host_name);

/// The name of this host, as the kernel has it. Errors: resource.
[[nodiscard]] Result<std::string> own_host_name();

}  // namespace spindrift::config
