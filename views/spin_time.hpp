// How long the poller spins before it sleeps: as long as it has paid lately. Spinning costs the time until news comes,
// sleeping a wake-up, whose price was measured on this host. Of the quiet times seen last, the limit is chosen under which
// both together would have cost least.
//
// Not safe for more than one thread; reads no clock.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include <spindrift/core/clock.hpp>

namespace spindrift::views {

class SpinTime {
 public:
  /// `longest`: never spins for more, and begins with it. `wake_up`: what it costs to sleep and be woken.
  SpinTime(Duration longest, Duration wake_up) noexcept : longest_(longest), wake_up_(wake_up), limit_(longest) {}

  /// For how long to spin when it becomes quiet.
  [[nodiscard]] Duration limit() const noexcept { return limit_; }

  /// News came after it had been quiet for `length`, asleep or not.
  void note(Duration length) noexcept {
    for (double& weight : weights_) weight *= memory;
    weights_[kind_of(length)] += 1;
    limit_ = cheapest();
  }

 private:
  /// A quiet time counts half after some twenty others.
  static constexpr double memory = 31.0 / 32.0;
  /// Kind k is of up to 2^k quarters of a microsecond; the last one is of all longer ones.
  static constexpr std::size_t kinds = 18;
  static constexpr std::int64_t unit_ns = 250;
  /// A longer limit has to save more than rounding does.
  static constexpr double enough = 1 - 1e-6;

  [[nodiscard]] static std::size_t kind_of(Duration length) noexcept {
    const auto units = static_cast<std::uint64_t>(std::max<Duration::rep>(length.count() - 1, 0) / unit_ns);
    return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(units)), kinds - 1);
  }
  [[nodiscard]] static Duration longest_of(std::size_t kind) noexcept { return Duration(unit_ns << kind); }

  // Cost of spinning up to each kind's longest: what ends by then costs its own length, the rest the limit and a wake-up.
  [[nodiscard]] Duration cheapest() const noexcept {
    double later = 0;
    for (const double weight : weights_) later += weight;
    Duration best{};
    double least = later * static_cast<double>(wake_up_.count());
    double spun = 0;
    for (std::size_t kind = 0; kind + 1 < kinds && longest_of(kind) <= longest_; ++kind) {
      const auto length = static_cast<double>(longest_of(kind).count());
      spun += weights_[kind] * length;
      later -= weights_[kind];
      const double cost = spun + later * (length + static_cast<double>(wake_up_.count()));
      if (cost >= least * enough) continue;
      least = cost;
      best = longest_of(kind);
    }
    return best;
  }

  std::array<double, kinds> weights_{};
  Duration longest_;
  Duration wake_up_;
  Duration limit_;
};

}  // namespace spindrift::views
