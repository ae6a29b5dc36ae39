// Measures how long deliveries stand still when the view changes under load: one member is killed, and started again.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/bench/group_config.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

struct ViewChangeRun {
  GroupShape shape;  ///< all members send without pause; at least three
  std::uint64_t message_bytes = 1024;
  std::uint64_t state_bytes = 0;  ///< what a newcomer is given
  std::uint32_t rounds = 30;
  bool kill_leader = false;  ///< the member of the lowest rank; otherwise that of the highest
  bool share = false;        ///< note what connecting takes, at the price of looks at clocks in each poll
};

/// One change at one member, up to its first delivery in the new view; times in milliseconds. *Connecting* is what its
/// poller spent in calls of the fabric about links and regions since its first delivery in the view before, so it includes
/// what the last change left to be given back.
struct ChangeShare {
  double change_ms = 0;      ///< from the first word of it: the peer is lost, or connected, or all the others agreed; of
                             ///< a newcomer from the start of its process
  double agree_ms = 0;       ///< of that, until the new view's memory is asked for; of a newcomer until all are connected
  double exchange_ms = 0;    ///< from when memory is asked for until the last peer has shown its own; waiting included
  double open_ms = 0;        ///< of a newcomer, opening the fabric; no part of connecting
  double connecting_ms = 0;  ///< of `change_ms`, in connecting
  double links_ms = 0;       ///< of that, what is about links; the rest is about regions
  double connecting_cpu_ms = 0;  ///< CPU time of the poller in connecting; the rest it stood for others to run
  double connecting_waits = 0;   ///< how often it gave up its CPU by itself in connecting, for a lock or a peer
  double cpu_ms = 0;             ///< CPU time of the poller in `change_ms`; of a newcomer of all of its process
};

/// In milliseconds. A gap is the time from a survivor's last delivery before a view to its first in it.
struct ViewChangeResult {
  std::vector<double> kill_gaps_ms;  ///< one per survivor and round
  std::vector<double> join_gaps_ms;  ///< one per survivor and round
  std::vector<double>
      steady_gaps_ms;  ///< longest between two deliveries in 100 ms without a change; one per survivor and round
  std::vector<double> catch_up_ms;  ///< from the start of the newcomer's process to its first delivery; one per round
  // With `share` alone:
  std::vector<ChangeShare> kill_shares;      ///< one per survivor and round
  std::vector<ChangeShare> join_shares;      ///< one per survivor and round
  std::vector<ChangeShare> newcomer_shares;  ///< one per round
};

/// Errors: resource; whatever a member met; timed_out if a view does not come.
[[nodiscard]] ViewChangeResult run_view_changes(const ViewChangeRun& run);

}  // namespace spindrift::bench
