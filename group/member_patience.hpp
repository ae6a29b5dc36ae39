// How long a client waits for a member's answers before it asks another one.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <spindrift/core/clock.hpp>
#include <spindrift/group/client_messages.hpp>

namespace spindrift::clients {

class MemberPatience {
 public:
  /// `least`: above 0.
  explicit MemberPatience(Duration least) : least_(least) {}

  /// Another member is to be asked.
  void begin() noexcept { heard_ = {}; }
  /// The member did not answer in time: the next one has twice as long, up to 8 times the least.
  void in_vain() noexcept { doublings_ = std::min(doublings_ + 1, doublings_max); }
  /// An attempt of that time was answered. A member that takes long has twice that for the next answer, if it had it before.
  void heard(Ask ask, Time sent, Time now) noexcept;
  /// The time from which on an attempt is answered too late.
  [[nodiscard]] Time late(Ask ask, Time sent) const noexcept { return since(ask, sent) + patience(); }

 private:
  static constexpr unsigned doublings_max = 3;
  /// Attempts that a member answers one after the other: by its replica, or in the group's order.
  enum class Line : std::uint8_t { replica, order };
  [[nodiscard]] static std::size_t line_of(Ask ask) noexcept;
  /// The member has nothing before it that it has to answer first.
  [[nodiscard]] Time since(Ask ask, Time sent) const noexcept;
  [[nodiscard]] Duration patience() const noexcept { return least_ * (1U << doublings_); }

  const Duration least_;
  unsigned doublings_ = 0;
  std::array<Time, 2> heard_{};  // the last answer of each Line
};

}  // namespace spindrift::clients
