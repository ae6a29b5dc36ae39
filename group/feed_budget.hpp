// The bytes that a member and the observers of a subgroup may copy: so many each second, shared by the copy into the feed
// and one out of it for each observer, and after a pause one lap of the feed at once. So what the senders lose has a bound,
// however many observe, and however quickly they read.
//
// The invariant to remember: over any time, no more is written than one share of the rate for that time, and one lap.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>

#include <spindrift/core/clock.hpp>

namespace spindrift::group {

class FeedBudget {
 public:
  /// 0: no bound.
  explicit FeedBudget(std::uint64_t bytes_per_second) noexcept : bytes_per_second_(bytes_per_second) {}

  /// The position behind which a feed that is `written` so far may not be written at present; `shares`: one for the feed,
  /// and one for each observer. When all is spent, nothing is allowed until a quarter of a lap is: that is the largest
  /// record, and a reader has few gaps instead of many.
  [[nodiscard]] std::uint64_t limit(std::uint64_t written, std::uint64_t lap, std::uint64_t shares, Time now) noexcept {
    if (bytes_per_second_ == 0) return std::numeric_limits<std::uint64_t>::max();
    const double all = static_cast<double>(lap);
    const double rate = static_cast<double>(bytes_per_second_) / static_cast<double>(shares);
    const double earned = std::chrono::duration<double>(now - looked_at_).count() * rate;
    left_ = std::clamp(left_ - static_cast<double>(written - written_) + earned, 0.0, all);
    looked_at_ = now;
    written_ = written;
    if (left_ < all / 64) state_ = State::saving;
    if (left_ >= all / 4) state_ = State::spending;
    return state_ == State::spending ? written + static_cast<std::uint64_t>(left_) : written;
  }

 private:
  enum class State : std::uint8_t { spending, saving };

  const std::uint64_t bytes_per_second_;
  State state_ = State::spending;
  double left_ = 0;  // bytes
  Time looked_at_{};
  std::uint64_t written_ = 0;
};

}  // namespace spindrift::group
