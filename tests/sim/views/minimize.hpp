// Making a failing plan smaller: strike faults, nodes, senders, messages, as long as the same invariant still fails.
#pragma once

#include <cstdint>
#include <string>

#include "plan.hpp"

namespace spindrift::sim {

struct Minimized {
  Plan plan;
  std::string invariant;  ///< empty: the plan did not fail
  std::string what;
  std::uint64_t runs = 0;
};

[[nodiscard]] Minimized minimize(Plan plan);

}  // namespace spindrift::sim
