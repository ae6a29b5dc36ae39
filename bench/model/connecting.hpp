// KRCore's experiments over modelled cards: who connects, and who reads. Pools, directories and meta tables are the real
// ones.
#pragma once

#include <cstdint>

#include <spindrift/bench/model/cards.hpp>

namespace spindrift::bench::model {

/// Clients that connect again and again, each time to a node that they do not know, with one meta server (figure 8a).
struct ConnectingOutcome {
  double latency_us = 0;  ///< mean of a connection
  double per_second = 0;  ///< of all clients
  double reads_each = 0;  ///< of the table, mean of a connection
};
[[nodiscard]] ConnectingOutcome run_connecting(const CardCosts& costs, std::uint32_t clients,
                                               std::uint32_t connections_each);

/// The same where one thread at the server answers questions: a queue, and nothing of this code.
[[nodiscard]] ConnectingOutcome run_asking(const CardCosts& costs, std::uint32_t clients);

/// Workers that all connect to each other at once, on so many hosts, alike many on each (figure 8b). A host has one cache of
/// metadata, as the paper's kernels have: its first worker looks up the others. `hosts` equal to `workers`: each worker
/// looks up every other, as processes of this code do. In microseconds until the last one has all its pairs.
[[nodiscard]] double run_mesh(const CardCosts& costs, std::uint32_t workers, std::uint32_t hosts);

/// A read of 8 bytes of a peer that the pool talks to, one at a time, in microseconds.
[[nodiscard]] double run_read(const CardCosts& costs);

/// 64 reads, each over a virtual queue pair of its own to one of 10 targets, by a pool of so many connectionless queue pairs
/// (figure 14a). In microseconds, mean of so many draws of the targets.
[[nodiscard]] double run_batch(const CardCosts& costs, std::uint32_t queue_pairs, std::uint32_t draws);

}  // namespace spindrift::bench::model
