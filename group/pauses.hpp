// A watch over subgroups whose handler the application has paused: since when, and how much waits for it to go on. So a
// member that takes nothing shows that it means to, and where, in its status.
//
// The poller's.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/group/channels.hpp>
#include <spindrift/group/status.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// The members that hold up sends of this one in that subgroup: they have still to give their applications at least half as
/// much of what it sent there as the one that has most of it before it, which this one can be, too. Ascending; empty: all
/// have everything, or this one sends nothing there.
[[nodiscard]] std::vector<NodeId> awaited_members(const views::Member& member, SubgroupId id);

class Pauses {
 public:
  static constexpr Duration look_interval = std::chrono::milliseconds(250);
  /// A pause is told when it has lasted so long: who takes slowly pauses and goes on many times a second.
  static constexpr std::uint64_t told_after_ms = 500;

  /// Returns when to look again; never: nothing is paused.
  [[nodiscard]] Time look(const views::Member& member, const Channels& channels, const PausedSubgroups& paused, Time now);
  /// By the name of the subgroup.
  [[nodiscard]] const std::map<std::string, MemberStatus::Pause>& told() const noexcept { return told_; }

 private:
  std::map<std::string, MemberStatus::Pause> told_;
  Time last_look_{};
};

}  // namespace spindrift::group
