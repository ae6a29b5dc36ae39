// Time is an argument. Protocol code receives `Time`; only the composition root asks a Clock.
#pragma once

#include <chrono>

namespace spindrift {

using Duration = std::chrono::nanoseconds;

/// Names the time line of this process: monotonic, unrelated to the calendar, comparable only within one process.
struct MonotonicTime {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  static constexpr bool is_steady = true;
};
using Time = std::chrono::time_point<MonotonicTime, Duration>;

/// "No deadline".
inline constexpr Time never = Time::max();

/// The seam to the machine's clock. Implementations are thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const noexcept = 0;
};

/// CLOCK_MONOTONIC.
class SystemClock final : public Clock {
 public:
  [[nodiscard]] Time now() const noexcept override {
    return Time(std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()));
  }
};

}  // namespace spindrift
