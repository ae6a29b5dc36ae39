// A part of a fabric that reaches peers in two ways: each part does this beyond what every fabric does.
#pragma once

#include <optional>
#include <span>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric {

class Part : public Fabric {
 public:
  /// The answer that `post` would give to the list before it executes anything of it.
  [[nodiscard]] virtual Result<void> check(std::span<const Operation> operations) = 0;

  /// From here on calls of that node are turned away and told of once, with `why`; a connection that there is with it is
  /// lost, and it is called no more. Nothing: it is welcome again. Poller alone.
  virtual void turn_away(NodeId node, std::optional<Error> why) = 0;
};

}  // namespace spindrift::fabric
