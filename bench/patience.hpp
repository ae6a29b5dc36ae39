// The patience of the parent of a group of processes. Time in which it was stopped itself does not count: whoever
// stops it, to measure something else on this machine, stops its children too.
#pragma once

#include <algorithm>
#include <cstdint>

namespace spindrift::bench {

/// In nanoseconds of any clock that does not go back. Looked at far more often than every `look_ns_max`.
class Patience {
 public:
  static constexpr std::uint64_t look_ns_max = 500'000'000;  ///< so much of the time between two looks counts at most

  Patience(std::uint64_t most_ns, std::uint64_t now_ns) : most_ns_(most_ns), last_ns_(now_ns) {}

  [[nodiscard]] bool over(std::uint64_t now_ns) noexcept {
    waited_ns_ += std::min(now_ns - last_ns_, look_ns_max);
    last_ns_ = now_ns;
    return waited_ns_ > most_ns_;
  }

 private:
  const std::uint64_t most_ns_;
  std::uint64_t last_ns_;
  std::uint64_t waited_ns_ = 0;
};

}  // namespace spindrift::bench
