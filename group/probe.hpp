// What an experiment may put into a group: for benches and tests, and not installed.
#pragma once

#include <functional>
#include <memory>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/smc/multicast.hpp>

namespace spindrift::group {

struct Probe {
  /// Batches cut short, no null-sends: see smc/multicast.hpp.
  smc::Policy policy;
  /// Called once, on the thread that joins: puts what measures or breaks between the group and its fabric, from before that
  /// listens. Nothing: the fabric is used as it is.
  std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)> watch_fabric;
};

}  // namespace spindrift::group
