// Gauges among the counters: how full the own rings are, and what each member has still to deliver of what lies in them, in
// messages and in bytes. So whoever looks sees who lags, and by how much, before anybody waits.
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
#include <spindrift/views/member.hpp>

namespace spindrift::group {

class LagGauges {
 public:
  static constexpr Duration look_interval = std::chrono::milliseconds(250);
  /// Gauges for each member cost more than they say where subgroups times nodes are more: there are none then.
  static constexpr std::size_t pairs_max = 4096;

  /// The number of counters that so many subgroups and nodes take.
  [[nodiscard]] static constexpr std::size_t counters(std::size_t subgroups, std::size_t nodes) noexcept {
    return subgroups + (subgroups * nodes <= pairs_max ? 2 * subgroups * nodes : 0);
  }
  /// For every subgroup of `names` "subgroup.NAME.ring_used_percent", of the fullest of what bounds this node's sends there;
  /// and, for each of `nodes`, "subgroup.NAME.lag_messages_of_ID" and "subgroup.NAME.lag_bytes_of_ID".
  LagGauges(CounterBlock& counters, const std::vector<std::string>& names, const std::vector<NodeId>& nodes);
  /// Another subgroup, behind those that there are or in place of one that was dropped.
  void add(CounterBlock& counters, SubgroupId id, const std::string& name);

  /// Returns when to look again; never: nothing is under way.
  [[nodiscard]] Time look(const views::Member& member, Time now);

 private:
  struct OfSubgroup {
    Counter ring_used;
    CounterRun lags;  ///< by node: messages and bytes, in turn; of none where they are too many
    bool zero = true;  ///< all of it
  };
  /// True if something is under way.
  bool look_at(OfSubgroup& gauges, const views::Epoch* epoch, SubgroupId id);

  std::vector<OfSubgroup> of_subgroups_;
  std::map<NodeId, std::size_t> places_;  // of nodes among the lags; none where they are too many
  Time last_look_{};
  Time look_again_ = never;
};

}  // namespace spindrift::group
