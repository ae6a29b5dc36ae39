// The fabric that a group's configuration asks for.
#pragma once

#include <functional>
#include <memory>

#include <spindrift/core/audit.hpp>
#include <spindrift/core/config/config.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::tcp {
class DiscoveryAnswer;
}
namespace spindrift::fabric::tls {
class Credentials;
}

namespace spindrift::group {

struct GroupFabric {
  std::unique_ptr<fabric::Fabric> fabric;
  std::shared_ptr<fabric::tls::Credentials> credentials;  ///< null: nobody proves anything
};

/// Opens it and listens where the configuration says that this node does. Logs the choice, and `audit` is told of it and of
/// who calls. `discovery`: what callers over TCP are told that ask for the group. `watch`, if there is one, puts a decorator
/// around it before it listens. Errors: those of the fabric.
[[nodiscard]] Result<GroupFabric> open_group_fabric(
    const Config& config, const std::shared_ptr<AuditTrail>& audit,
    const std::shared_ptr<const fabric::tcp::DiscoveryAnswer>& discovery,
    const std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)>& watch = {});

}  // namespace spindrift::group
