// The swarm options of one run with one fixed view: everything that is chosen before it starts, from the seed alone. Every
// run turns another set of knobs to extremes, so that rare situations meet each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/core/view.hpp>
#include <spindrift/smc/ablation.hpp>

#include "sim_fabric.hpp"

namespace spindrift::sim {

/// One virtual application thread that sends to one subgroup.
struct ThreadOptions {
  std::uint32_t node = 0;  ///< rank in the view
  std::uint32_t subgroup = 0;
  std::uint32_t messages = 0;
  std::uint32_t burst = 1;  ///< messages without a pause between them
  Ticks think_ns_max = 1;   ///< between bursts
  Ticks hold_ns_max = 1;    ///< between reserve and commit
  std::uint32_t abandons_in_64 = 0;
  std::uint32_t empty_in_8 = 0;    ///< messages of no bytes
  std::uint32_t largest_in_8 = 0;  ///< messages of the largest size
};

struct NodeOptions {
  Ticks start_ns = 0;
  Ticks step_ns_max = 100;  ///< from news to the step that sees it
  std::uint32_t host = 0;   ///< nodes of one host map each other
  std::uint64_t pauses_in_1000 = 0;
  Ticks pause_ns_max = 0;
  std::uint64_t refusals_in_1000 = 0;  ///< upcalls after which the sink takes nothing for a while
  Ticks refusal_ns_max = 0;
  std::uint64_t echoes = 0;  ///< messages sent from inside upcalls
};

/// For the policy of a seed's members: in some runs so few that messages are held back.
[[nodiscard]] std::uint64_t draw_unsent_bytes_max(std::uint64_t seed);

struct Options {
  std::uint64_t seed = 0;
  View view;
  smc::Ablation policy;
  FabricOptions fabric;
  std::vector<NodeOptions> nodes;
  std::vector<ThreadOptions> threads;
  std::uint64_t events_max = 16'000'000;  ///< a run that is not quiet then never will be

  /// The options of a seed.
  [[nodiscard]] static Options of(std::uint64_t seed);
  /// The same run with split rows.
  void split_rows() {
    for (SubgroupView& subgroup : view.subgroups) subgroup.profile.split_rows = true;
  }
  /// For people who look for what a failing run had in common with others.
  [[nodiscard]] std::string describe() const;
};

}  // namespace spindrift::sim
