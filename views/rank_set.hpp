// A set of ranks of one view, in two words, so that it fits into a row.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <spindrift/core/check.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::views {

class RankSet {
 public:
  static constexpr std::uint32_t words = 2;
  static_assert(words * 64 == member_count_max);

  constexpr RankSet() noexcept = default;
  constexpr RankSet(std::uint64_t low, std::uint64_t high) noexcept : bits_{low, high} {}
  /// Ranks 0 … count − 1.
  [[nodiscard]] static constexpr RankSet first(std::uint64_t count) noexcept {
    const auto mask = [](std::uint64_t bits) { return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1; };
    return {mask(count), count > 64 ? mask(count - 64) : 0};
  }

  [[nodiscard]] static constexpr RankSet of(Rank rank) noexcept {
    RankSet one;
    one.add(rank);
    return one;
  }

  constexpr void add(Rank rank) noexcept {
    SPINDRIFT_CHECK(rank.value() < member_count_max);
    bits_[rank.value() / 64] |= std::uint64_t{1} << rank.value() % 64;
  }
  constexpr void add(const RankSet& other) noexcept {
    for (std::uint32_t half = 0; half < words; ++half) bits_[half] |= other.bits_[half];
  }
  [[nodiscard]] constexpr RankSet without(const RankSet& other) const noexcept {
    return {bits_[0] & ~other.bits_[0], bits_[1] & ~other.bits_[1]};
  }
  [[nodiscard]] constexpr bool contains(Rank rank) const noexcept {
    return rank.value() < member_count_max && (bits_[rank.value() / 64] >> rank.value() % 64 & 1) != 0;
  }
  [[nodiscard]] constexpr bool includes(const RankSet& other) const noexcept {
    return (other.bits_[0] & ~bits_[0]) == 0 && (other.bits_[1] & ~bits_[1]) == 0;
  }
  [[nodiscard]] constexpr bool disjoint(const RankSet& other) const noexcept {
    return (other.bits_[0] & bits_[0]) == 0 && (other.bits_[1] & bits_[1]) == 0;
  }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(std::popcount(bits_[0]) + std::popcount(bits_[1]));
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_[0] == 0 && bits_[1] == 0; }
  [[nodiscard]] constexpr std::uint64_t word(std::uint32_t half) const noexcept { return bits_[half]; }
  constexpr bool operator==(const RankSet& other) const noexcept {
    return bits_[0] == other.bits_[0] && bits_[1] == other.bits_[1];  // no call of memcmp, in every pass
  }

 private:
  std::array<std::uint64_t, words> bits_{};
};

}  // namespace spindrift::views
