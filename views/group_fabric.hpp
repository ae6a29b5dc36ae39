// The fabric that a group's configuration asks for.
#pragma once

#include <memory>

#include <spindrift/core/config/config.hpp>
#include <spindrift/core/fabric/fabric.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::views {

/// Opens it and listens where the configuration says that this node does. Logs the choice. Errors: those of the fabric.
[[nodiscard]] Result<std::unique_ptr<fabric::Fabric>> open_group_fabric(const Config& config);

}  // namespace spindrift::views
