// How long deliveries stand still when the view changes under load: one member is killed, and started again.
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
};

/// In milliseconds. A gap is the time from a survivor's last delivery before a view to its first in it.
struct ViewChangeResult {
  std::vector<double> kill_gaps_ms;  ///< one per survivor and round
  std::vector<double> join_gaps_ms;  ///< one per survivor and round
  std::vector<double>
      steady_gaps_ms;  ///< longest between two deliveries in 100 ms without a change; one per survivor and round
  std::vector<double> catch_up_ms;  ///< from the start of the newcomer's process to its first delivery; one per round
};

/// Errors: resource; whatever a member met; timed_out if a view does not come.
[[nodiscard]] Result<ViewChangeResult> run_view_changes(const ViewChangeRun& run);

}  // namespace spindrift::bench
