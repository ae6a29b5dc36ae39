// Nodes whose hosts are called by name, and the wait for the name of this node's own host: where hosts come and go, as pods
// do, a name has an address only while its host runs, and a little later than that.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::group {

/// "host:port" of a node whose address a name server has to be asked for. Nothing: it has an address in numbers or none, or
/// this node finds it by shared memory.
[[nodiscard]] std::optional<std::string> called_name(const Config& config, NodeId node);

/// Returns when the name of this node's own host has an address of this host, at once if it needs none. `told` is called if
/// it has none yet, or one of the host that had the name before, once. Looks again and again, for nobody tells of names.
/// Errors: timed_out, after `limit`, with the reason.
[[nodiscard]] Result<void> await_own_name(const Config& config, Duration limit, const Clock& clock,
                                          const std::function<void()>& told);

}  // namespace spindrift::group
