// A set of ranks of one view. It fits into the line of a row that says whom its owner suspects.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <spindrift/core/bytes.hpp>
#include <spindrift/core/check.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/sst/row_layout.hpp>

namespace spindrift::views {

class RankSet {
 public:
  static constexpr std::uint32_t words = member_count_max / 64;
  static_assert(words * 64 == member_count_max);

  constexpr RankSet() noexcept = default;
  /// Ranks 0 to 63, a bit each, and 64 to 127.
  constexpr RankSet(std::uint64_t low, std::uint64_t high) noexcept : bits_{low, high} {}
  /// Ranks 0 … count − 1.
  [[nodiscard]] static constexpr RankSet first(std::uint64_t count) noexcept {
    RankSet set;
    for (std::uint32_t i = 0; i < words; ++i) {
      const std::uint64_t before = 64 * std::uint64_t{i};
      if (count >= before + 64) {
        set.bits_[i] = ~std::uint64_t{0};
      } else if (count > before) {
        set.bits_[i] = (std::uint64_t{1} << (count - before)) - 1;
      }
    }
    return set;
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
    for (std::uint32_t i = 0; i < words; ++i) bits_[i] |= other.bits_[i];
  }
  [[nodiscard]] constexpr RankSet without(const RankSet& other) const noexcept {
    RankSet rest;
    for (std::uint32_t i = 0; i < words; ++i) rest.bits_[i] = bits_[i] & ~other.bits_[i];
    return rest;
  }
  [[nodiscard]] constexpr bool contains(Rank rank) const noexcept {
    return rank.value() < member_count_max && (bits_[rank.value() / 64] >> rank.value() % 64 & 1) != 0;
  }
  [[nodiscard]] constexpr bool includes(const RankSet& other) const noexcept { return other.without(*this).empty(); }
  [[nodiscard]] constexpr bool disjoint(const RankSet& other) const noexcept {
    std::uint64_t common = 0;
    for (std::uint32_t i = 0; i < words; ++i) common |= bits_[i] & other.bits_[i];
    return common == 0;
  }
  [[nodiscard]] constexpr std::uint32_t count() const noexcept {
    int count = 0;
    for (const std::uint64_t word : bits_) count += std::popcount(word);
    return static_cast<std::uint32_t>(count);
  }
  [[nodiscard]] constexpr bool empty() const noexcept {
    std::uint64_t any = 0;
    for (const std::uint64_t word : bits_) any |= word;
    return any == 0;
  }
  /// Ranks 64 · which … 64 · which + 63, a bit each.
  [[nodiscard]] constexpr std::uint64_t word(std::uint32_t which) const noexcept { return bits_[which]; }
  constexpr void set_word(std::uint32_t which, std::uint64_t bits) noexcept { bits_[which] = bits; }
  constexpr bool operator==(const RankSet& other) const noexcept {
    std::uint64_t differ = 0;  // no call of memcmp, in every pass
    for (std::uint32_t i = 0; i < words; ++i) differ |= bits_[i] ^ other.bits_[i];
    return differ == 0;
  }

 private:
  std::array<std::uint64_t, words> bits_{};
};

/// In as many words as sets of ranks of a view of so many members have, in rows and messages.
inline void put_ranks(ByteWriter& writer, const RankSet& set, std::size_t members) {
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(members); ++i) writer.put(set.word(i));
}
/// Takes what `put_ranks` has written; of any ranks.
[[nodiscard]] inline RankSet get_ranks(ByteReader& reader, std::size_t members) {
  RankSet set;
  for (std::uint32_t i = 0; i < sst::rank_set_words_of(members); ++i) set.set_word(i, reader.get<std::uint64_t>());
  return set;
}

}  // namespace spindrift::views
