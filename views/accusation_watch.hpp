// Says when accusations may be weighed: links that break of one cause do not break in one moment, and the last of them that
// matters should be seen before any is judged. And when to wait for answers no longer.
//
// The invariant to remember: what others say behind a verdict changes nothing of it, so it holds up nobody. Otherwise the
// members of a large group would follow a verdict one after another.
//
// Pure; one thread. Times are those of the passes.
#pragma once

#include <cstdint>
#include <optional>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::views {

class AccusationWatch {
 public:
  struct Finding {
    /// This member would go by what lay in the rows a quarter of the patience ago, and by all that was seen since.
    std::optional<Rank> weighed;
    /// So many accusations have been there for twice the patience: whoever is accused has missed its accuser by then, even
    /// if it was away before. 0: there are none, or some came since.
    std::uint64_t stale = 0;
  };

  /// `count`: of the accusations that lie in the rows now. `goes`: who would go if they were weighed now. `patience`: for
  /// how long a member may be silent; 0: silence is no ground for suspicion, and nothing is waited for.
  /// `just_woke`: this member was away until a moment ago, and what the others said meanwhile it is about to hear.
  [[nodiscard]] Finding look(std::uint64_t count, std::optional<Rank> goes, Time now, Duration patience,
                             bool just_woke = false) noexcept {
    const bool waits = patience != Duration{};
    if (count != count_ || just_woke) count_changed_ = now;
    if (goes != goes_ || just_woke) goes_changed_ = now;
    count_ = count;
    goes_ = goes;
    Finding finding;
    if (!waits || now - goes_changed_ >= patience / 4) finding.weighed = goes;
    if (waits && now - count_changed_ >= 2 * patience) finding.stale = count;
    return finding;
  }

 private:
  std::uint64_t count_ = 0;
  Time count_changed_{};
  std::optional<Rank> goes_;
  Time goes_changed_{};
};

}  // namespace spindrift::views
