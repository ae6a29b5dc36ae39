// Systematic crashes: a scripted change of the view is run without faults, and then again with a crash at every single
// effect (a post, an exposure, an allocation, an upcall, …) of every process; and for each of these again with a second
// crash at every effect that any other process has after the first. What randomness would have to be lucky for, this
// enumerates. Where too many are lost, the rest must stop, and say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../report.hpp"
#include "plan.hpp"

namespace spindrift::sim {

struct CrashPointOptions {
  std::uint32_t nodes = 3;  ///< 3 … 5
  enum class Change : std::uint8_t { crash, join, leave } change = Change::crash;
  std::uint64_t every = 1;   ///< first crashes: at every so many effects
  std::uint64_t stride = 0;  ///< two crashes: every so many pairs; 1: all; 0: none
};

struct CrashPointResult {
  std::uint64_t boundaries = 0;  ///< effects of the change, over all processes
  std::uint64_t runs = 0;
  std::uint64_t pairs = 0;      ///< that there are behind the first crashes that were run
  std::uint64_t pairs_run = 0;  ///< of the runs, with two crashes
  std::string failure;          ///< empty: every run was clean
  Report report;                ///< probes over all runs
};

/// Stops at the first failure.
[[nodiscard]] CrashPointResult run_crash_points(const CrashPointOptions& options);
[[nodiscard]] std::string to_string(CrashPointOptions::Change change);
[[nodiscard]] std::optional<CrashPointOptions::Change> change_named(const std::string& name);

}  // namespace spindrift::sim
