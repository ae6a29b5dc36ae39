// The parts of `spindrift bench connect` in which many connect, ask or read at a time; each is a run of its own.
#pragma once

#include <cstdint>
#include <string>

#include <spindrift/bench/report.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct ManyOptions {
  std::string json;
  std::string provider;  ///< as of Reach
  std::uint32_t repeats = 1;
  std::uint32_t samples = 1;  ///< lookups of each client, batches of reads; in each repeat
  std::uint32_t most = 32;    ///< workers or clients
};

// Each measures, by turns within each repeat where ways are compared, and reports. Call while this process has one thread.
// Errors: those of measure_mesh, measure_lookups and measure_read_batches.
[[nodiscard]] Result<void> run_mesh_bench(const ManyOptions& options);
[[nodiscard]] Result<void> run_lookup_bench(const ManyOptions& options);
[[nodiscard]] Result<void> run_pool_bench(const ManyOptions& options);

}  // namespace spindrift::bench
