// The parts that an experiment may put into a group: for benches and tests, and not installed.
#pragma once

#include <functional>
#include <memory>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/smc/subgroup_scheduler.hpp>

namespace spindrift::group {

struct Probe {
  smc::Policy policy{};
  /// How multicasts are stepped: smc/ablation.hpp has one that cuts batches short, sends no nulls, and takes the time.
  std::shared_ptr<smc::Stepper> stepper = std::make_shared<smc::Stepper>();
  /// Called once, on the thread that joins: puts what measures or breaks between the group and its fabric, from before that
  /// listens. Nothing: the fabric is used as it is.
  std::function<std::unique_ptr<fabric::Fabric>(std::unique_ptr<fabric::Fabric>)> watch_fabric{};
};

}  // namespace spindrift::group
