// Notices candidates that the leader cannot take in for long, because members have no connection with them, so that people
// hear of it once. Every candidate waits for a moment, until its last connection is up: nothing is said of that.
//
// Pure; one thread. Times are those of the passes.
#pragma once

#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/views/decree.hpp>
#include <spindrift/views/rank_set.hpp>

namespace spindrift::views {

class JoinWatch {
 public:
  struct Waiting {
    Join who;
    RankSet without_link;  ///< members of the view that have no connection with it
  };

  /// `waiting`: those that wait now. Returns those of them that are to be told of.
  [[nodiscard]] std::vector<Waiting> look(std::span<const Waiting> waiting, Time now);

 private:
  struct Known {
    Join who;
    Time since{};
    bool told = false;
  };
  std::vector<Known> known_;  // those that waited at the last look
};

}  // namespace spindrift::views
