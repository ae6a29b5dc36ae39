// A run of calls: processes over a network by a plan. First work amid trouble; then all trouble ends, every call has to end
// and new ones have to be answered; then all sessions end, and nobody may keep anything of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rpc_process.hpp"

namespace spindrift::sim {

struct RpcRunResult {
  std::uint64_t events = 0;
  std::uint64_t calls = 0;
  std::uint64_t hash = 0;
  std::string invariant;  ///< empty: all is well
  std::string what;
  std::map<std::string, std::uint64_t> probes;  ///< how often the run came to what runs should come to
};

[[nodiscard]] RpcRunResult run_rpc(const RpcPlan& plan);

}  // namespace spindrift::sim
