// A leave that takes long: names who is waited for, so that it does not stand still in silence.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// A subgroup in which somebody has not taken what this member sent, or this one what was delivered to it.
struct AwaitedTaking {
  std::string subgroup;
  std::vector<NodeId> nodes;  ///< those that are furthest behind; none: this member itself
};
[[nodiscard]] std::vector<AwaitedTaking> awaited_by(const views::Epoch& present);

/// The poller's.
class LeaveWatch {
 public:
  static constexpr Duration report_after = std::chrono::seconds(1);
  static constexpr Duration report_interval = std::chrono::seconds(10);

  /// Logs what a leave that has been asked for waits for, if that has lasted. Returns when to look again.
  [[nodiscard]] Time look(const views::Member& member, Time now);
  /// The same as a sentence, as of the last report; empty: nothing, or not for long.
  [[nodiscard]] const std::string& waits() const noexcept { return waits_; }

 private:
  std::string waits_;
  std::optional<Time> next_report_;  // once the leave was asked for
};

}  // namespace spindrift::group
