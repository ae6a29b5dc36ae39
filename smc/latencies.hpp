// How long own messages take, until this member has delivered them and until every member has. Of each of the two one
// message at a time is watched: so that no message costs anything, and of many sent at once one stands for all.
//
// Times are those of passes: a message counts from the pass that finds it committed, be it published in that one or held
// back, to the one that finds it delivered. One that is under way when its view ends is not counted.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/histogram.hpp>
#include <spindrift/smc/send_ring.hpp>
#include <spindrift/smc/subgroup_rows.hpp>

namespace spindrift::smc {

class Latencies {
 public:
  /// Microseconds up to 2^22, some four seconds.
  static constexpr std::size_t bounds = 23;
  static constexpr std::size_t counters_count = 2 * Histogram::counters(bounds);

  /// The histograms "own_latency_us" and "stable_latency_us" of the subgroup.
  Latencies(const SubgroupRows& rows, CounterBlock& counters);

  /// The pass comes to the subgroup: takes up the next message of the own ring where none is watched.
  void on_turn(const SendRing& ring, Time now);
  /// Every message with an index below `own` is delivered here, below `everywhere` at every member.
  void on_delivered(std::uint64_t own, std::uint64_t everywhere, Time now);

 private:
  struct Watched {
    std::uint64_t index = 0;
    Time since{};
  };
  /// The way of one message at a time, to one of the two ends.
  struct Way {
    Histogram times;
    std::optional<Watched> watched;
    void on_delivered(std::uint64_t count, Time now);
  };
  Way own_;
  Way stable_;
};

}  // namespace spindrift::smc
