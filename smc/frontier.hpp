// Round-robin order: sequence number = index · senders + sender rank. All frontiers and counts here are exclusive upper
// bounds that start at 0: `count` messages of a sender means indices 0 … count−1; a frontier f, sequence numbers below f.
// (Spindle, section 3; counts instead of highest numbers, so that nothing starts at −1.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace spindrift::smc {

/// The highest frontier below which every message is held, given the messages held of each sender, by sender rank.
[[nodiscard]] constexpr std::uint64_t received_frontier(std::span<const std::uint64_t> counts) noexcept {
  std::uint64_t lowest = ~std::uint64_t{0};
  const std::uint64_t senders = counts.size();
  for (std::uint64_t rank = 0; rank < senders; ++rank) lowest = std::min(lowest, counts[rank] * senders + rank);
  return lowest;
}

/// How many messages of the sender with `rank` lie below `frontier`.
[[nodiscard]] constexpr std::uint64_t messages_below(std::uint64_t frontier, std::uint64_t rank,
                                                     std::uint64_t senders) noexcept {
  return frontier <= rank ? 0 : (frontier - rank + senders - 1) / senders;
}

/// The count that sender `rank` must reach so that none of its next messages precedes a message that is already here:
/// M(i,k) precedes M(j,l) iff k < l, or k = l and i < j. (Spindle, section 3.3.)
[[nodiscard]] constexpr std::uint64_t count_owed(std::span<const std::uint64_t> counts, std::uint64_t rank) noexcept {
  std::uint64_t owed = 0;
  for (std::uint64_t other = 0; other < counts.size(); ++other) {
    if (other == rank || counts[other] == 0) continue;
    owed = std::max(owed, rank < other ? counts[other] : counts[other] - 1);
  }
  return owed;
}

}  // namespace spindrift::smc
