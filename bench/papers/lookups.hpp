// Measures what a lookup at a meta server takes, and how many a server answers, by one-sided reads of its table and by
// messages that a thread of it answers (KRCore, figure 9a). The same server, table and queue pairs either way; it has one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift::bench {

enum class LookupWay : std::uint8_t {
  reads,     ///< of a cluster and an entry of the table, one after the other
  messages,  ///< a question and its answer, over virtual queue pairs
};

inline constexpr std::uint32_t lookup_clients_max = 64;
struct LookupRun {
  std::string provider;  ///< as of Reach
  LookupWay way = LookupWay::reads;
  std::uint32_t clients = 1;    ///< processes, 1 … lookup_clients_max, each with one lookup at a time
  std::uint32_t lookups = 200;  ///< of each client, one after the other, of nodes that it does not know
  std::uint32_t nodes = 256;    ///< in the table
};

struct LookupTimes {
  std::vector<std::uint64_t> ns;  ///< one per lookup
  double per_second = 0;          ///< of all clients, from when all are ready until the last is through
};

/// Every answer is compared with what the table has. Call while this process has one thread. Errors: resource, timed_out,
/// member_lost, would_block (it took minutes), and those of the device and the pool.
[[nodiscard]] LookupTimes measure_lookups(const LookupRun& run);

}  // namespace spindrift::bench
