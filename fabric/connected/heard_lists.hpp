// The lists of revoked certificates that one peer hands on, put together from their parts; so much of them, and so often, as
// a member has reason to. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::fabric::connected {

class HeardLists {
 public:
  /// How often a peer may hand lists on: once when it is met, and once for each that is newer. After a rest so many at once,
  /// and one per second in the long run.
  static constexpr std::uint32_t at_once_max = 16;

  /// Takes the next part, behind which so many bytes follow; all of the lists, once they are here. Errors: refused (too
  /// much, too often, or other parts than were announced).
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> take(std::span<const std::byte> part, std::uint64_t rest,
                                                                   Time now);

 private:
  [[nodiscard]] bool may_begin(Time now) noexcept;

  std::vector<std::byte> bytes_;
  std::uint64_t rest_ = 0;  ///< to come behind `bytes_`
  std::uint32_t left_ = at_once_max;
  Time counted_{};
};

}  // namespace spindrift::fabric::connected
