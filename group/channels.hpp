// The channels of a member's subgroups: those of the layout, and those that views add and drop.
//
// The invariant to remember: a channel stays where it is as long as the group, for programs keep what they were given of it.
// A subgroup that is created at the place of one that was dropped gets another.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/counters.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/channel.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// The poller's, but for `find`, `seek`, `names` and `all`, which any thread may call.
class Channels {
 public:
  void add(Environment& environment, std::shared_ptr<views::SendGate> gate, SubgroupId id, const SubgroupView& shape);
  /// The present view: subgroups that are not in it any more are dropped. Returns those that are new in it.
  std::vector<SubgroupId> on_view(Environment& environment, const views::Member& member, const View& view,
                                  CounterBlock& counters);

  [[nodiscard]] Channel& operator[](SubgroupId id) const noexcept { return *channels_[id.value()]; }
  /// Throws bad_argument, naming the known ones.
  [[nodiscard]] Channel& find(std::string_view name) const;
  /// Nothing: no subgroup has that name.
  [[nodiscard]] std::optional<SubgroupId> seek(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// All that are there now.
  [[nodiscard]] std::vector<Channel*> all() const;
  [[nodiscard]] auto begin() const noexcept { return channels_.begin(); }
  [[nodiscard]] auto end() const noexcept { return channels_.end(); }

  void on_space(SubgroupId id);
  /// Ends the turns that are over; returns when to look again.
  [[nodiscard]] Time offer_space(Time now);

 private:
  mutable std::mutex mutex_;  // of the lists, which the poller alone changes
  std::vector<std::unique_ptr<Channel>> channels_;  // by subgroup; of an empty place, one that is dropped
  std::vector<std::unique_ptr<Channel>> dropped_;   // whose places are taken
  std::vector<Channel*> turns_;                     // where a turn may be out
};

}  // namespace spindrift::group
