// Systematic crashes: a scripted change of the view is run without faults, and then again with a crash at every single
// effect (a post, an exposure, an allocation, an upcall, …) of every process, alone and in pairs. What randomness would have
// to be lucky for, this enumerates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "../report.hpp"
#include "plan.hpp"

namespace spindrift::sim {

struct CrashPointOptions {
  std::uint32_t nodes = 3;  ///< 3 … 5
  enum class Change : std::uint8_t { crash, join, leave } change = Change::crash;
  std::uint64_t pairs_max = 0;  ///< two crashes: at most this many pairs, spread evenly; 0: single crashes only
  std::uint64_t every = 1;      ///< single crashes at every so many effects
};

struct CrashPointResult {
  std::uint64_t boundaries = 0;  ///< effects of the change, over all processes
  std::uint64_t runs = 0;
  std::uint64_t pairs = 0;  ///< of these, with two crashes
  std::string failure;      ///< empty: every run was clean
  Report report;            ///< probes over all runs
};

/// Stops at the first failure.
[[nodiscard]] CrashPointResult run_crash_points(const CrashPointOptions& options);
[[nodiscard]] std::string to_string(CrashPointOptions::Change change);

}  // namespace spindrift::sim
