// A watch over waiting sends: it looks from time to time which subgroups have threads that wait for space, and which members
// have taken least there. So a member that slows down all others shows, in counters and in this member's status.
//
// The poller's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/counters.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/group/channels.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

class SendWaits {
 public:
  static constexpr Duration look_interval = std::chrono::milliseconds(5);
  /// A finding that holds for most looks of such a time is told.
  static constexpr Duration period = std::chrono::seconds(1);

  /// Counters for every subgroup of `names` ("subgroup.NAME.send_wait_ms": time in which sends of this node waited for
  /// space) and every node ("sends.wait_ms_for.ID": of that, the time in which this one had taken least; several share it).
  SendWaits(CounterBlock& counters, const std::vector<std::string>& names, const std::vector<NodeId>& nodes);
  /// Another subgroup, behind those that there are or in place of one that was dropped.
  void add(CounterBlock& counters, SubgroupId id, const std::string& name);

  /// Returns when to look again.
  [[nodiscard]] Time look(const views::Member& member, const Channels& channels, Time now);
  /// The members that sends waited for most of the last period, in words; empty: they waited for nobody.
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  /// A subgroup's looks of this period, and what they found.
  struct Tally {
    unsigned waiting = 0;
    std::map<NodeId, unsigned> for_node;
  };

  [[nodiscard]] bool tally(const views::Member& member, const Channel& channel, Duration since);
  void sum_up(const Channels& channels);

  std::vector<Counter> of_subgroups_;
  std::map<NodeId, Counter> of_nodes_;
  std::map<NodeId, Duration> unsaid_;  // less than a millisecond each
  std::vector<Duration> unsaid_here_;  // the same by subgroup
  std::vector<Tally> tallies_;         // by subgroup
  unsigned looks_ = 0;                 // in this period
  Time last_look_{};
  Time look_again_ = never;
  Time period_ends_{};
  std::string words_;
};

}  // namespace spindrift::group
