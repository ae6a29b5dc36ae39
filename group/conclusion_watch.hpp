// A view whose end is decided and does not come, because the application of some member is still at work on it: names whom
// everybody waits for, and says when a handler of this member has had too long.
//
// The poller's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/channels.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// For people: the applications that the next view waits for, as far as this member knows. Empty: it waits for none.
[[nodiscard]] std::string awaited_applications(const views::Member& member, const Channels& channels);

class ConclusionWatch {
 public:
  static constexpr Duration report_after = std::chrono::seconds(1);
  static constexpr Duration report_interval = std::chrono::seconds(10);

  struct Finding {
    Time look_again = never;
    std::optional<Error> stuck;  ///< this member is to end: its handler had one batch for too long
  };

  /// `stuck_after`: for how long a handler may be at work on one batch while a view ends; 0: as long as it takes.
  explicit ConclusionWatch(Duration stuck_after) noexcept : stuck_after_(stuck_after) {}

  /// Logs what the end of a view waits for here, if that has lasted.
  [[nodiscard]] Finding look(const views::Member& member, const Channels& channels, Time now);

 private:
  /// One batch that a handler is at work on while the view ends.
  struct Waiting {
    const Channel* whose = nullptr;
    std::uint64_t batch = 0;
    Time since{};
    Time next_report{};
  };

  Duration stuck_after_;
  std::optional<Waiting> waiting_;
};

}  // namespace spindrift::group
