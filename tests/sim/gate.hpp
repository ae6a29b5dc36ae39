// A gate: many seeds, each clean, and every probe met over all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace spindrift::sim {

struct GateOptions {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1000;
  std::uint64_t seconds = 0;  ///< stop after this time; 0: no limit
  enum class Kind : std::uint8_t { both, one_view, views };
  Kind kind = Kind::both;  ///< both: every third seed is a run with one view, the others are runs with views
  bool split_rows = false;  ///< all with split rows; else some are run once more so, without a part in hash and counts
  bool logs = false;  ///< only plans with logged subgroups
  bool forced = false;  ///< only plans in which a minority is told to found
  bool verbose = false;
  bool hashes = false;
  std::function<void(std::uint64_t seed)> on_seed;  ///< before each
};

struct GateFailure {
  std::uint64_t seed = 0;
  bool split_rows = false;
  std::string invariant;
  std::string what;
  std::string options;
};

struct GateResult {
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  std::uint64_t deliveries = 0;
  std::uint64_t hash = 0;  ///< over all seeds' trace hashes
  std::optional<GateFailure> failure;
  std::vector<std::pair<std::string, std::uint64_t>> probes;  ///< runs in which each was met
};

/// Stops at the first failure.
[[nodiscard]] GateResult run_gate(const GateOptions& options);

}  // namespace spindrift::sim
