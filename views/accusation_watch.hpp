// Says when accusations may be weighed: links that break of one cause do not break in one moment, and the last of them
// should be seen before any is judged. And when to wait for answers no longer.
//
// Pure; one thread. Times are those of the passes.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>

namespace spindrift::views {

class AccusationWatch {
 public:
  struct Finding {
    /// So many accusations lay in the rows a quarter of the patience ago, and none came since; otherwise what was found
    /// last.
    std::uint64_t considered = 0;
    /// None came for twice the patience: whoever is accused has missed its accuser by then, even if it was away before.
    bool stale = false;
  };

  /// `count`: of the accusations that lie in the rows now. `patience`: for how long a member may be silent; 0: silence is no
  /// ground for suspicion, and nothing is waited for.
  [[nodiscard]] Finding look(std::uint64_t count, Time now, Duration patience) noexcept {
    const bool waits = patience != Duration{};
    if (count != count_) changed_ = now;
    count_ = count;
    if (!waits || now - changed_ >= patience / 4) considered_ = count;
    return {considered_, waits && now - changed_ >= 2 * patience};
  }

 private:
  std::uint64_t count_ = 0;
  Time changed_{};
  std::uint64_t considered_ = 0;
};

}  // namespace spindrift::views
