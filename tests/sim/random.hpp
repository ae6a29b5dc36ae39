// Every random choice of a simulated run comes from one seed, split by purpose, so that changing how one part draws does
// not reshuffle the others. The generators are written out here: the same seed gives the same numbers with any library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace spindrift::sim {

/// Spreads every bit of `value` over the result (the finalizer of splitmix64); a bijection.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

enum class Purpose : std::uint64_t {
  options = 1, fabric, schedule, workload, faults, messages, handlers, pacing, large, links, breaks, lag, founding,
  tables, rows, rosters, deaths, drains, stops, added, layout, values, newcomers, files,
  releases, revivals, starving, saves, disks, crashes, logs, logged, trims, logged_objects, checkpoints, lost_logs,
  log_returns, forced, left_behind, adoptions, rpc_plan, rpc_packets, rpc_work, rpc_faults
};

/// xoshiro256++.
class Random {
 public:
  Random(std::uint64_t seed, Purpose purpose) noexcept {
    std::uint64_t state = mix(seed) ^ mix(static_cast<std::uint64_t>(purpose) * 0x632be59bd9b4e019);
    for (std::uint64_t& word : state_) word = state = mix(state);
  }

  std::uint64_t next() noexcept {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

  /// 0 … bound−1; `bound` is 1 … 2^32.
  std::uint64_t below(std::uint64_t bound) noexcept { return (next() >> 32) * bound >> 32; }
  /// lowest … highest, both included.
  std::uint64_t between(std::uint64_t lowest, std::uint64_t highest) noexcept {
    return lowest + below(highest - lowest + 1);
  }
  /// True `times` of `of` times.
  bool chance(std::uint64_t times, std::uint64_t of) noexcept { return below(of) < times; }
  /// lowest … highest (at least 1), every power of two equally likely: small values are as common as large ones.
  std::uint64_t spread(std::uint64_t lowest, std::uint64_t highest) noexcept {
    unsigned powers = 0;
    while ((lowest << (powers + 1)) <= highest) ++powers;
    const std::uint64_t from = lowest << below(powers + 1);
    return between(from, from * 2 - 1 < highest ? from * 2 - 1 : highest);
  }

  template <class T>
  T pick(std::initializer_list<T> of) noexcept {
    return *(of.begin() + static_cast<std::ptrdiff_t>(below(of.size())));
  }
  template <class T>
  void shuffle(std::vector<T>& items) noexcept {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t word, int by) noexcept { return word << by | word >> (64 - by); }
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace spindrift::sim
