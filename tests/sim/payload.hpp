// Contents of test messages: a stream of words that a seed determines, so that any byte of any message can be checked from
// the seed alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "random.hpp"

namespace spindrift::sim {

[[nodiscard]] constexpr std::uint64_t payload_word(std::uint64_t seed, std::uint64_t position) noexcept {
  const std::uint64_t word = seed + position * 0x9e3779b97f4a7c15;
  return word ^ (word >> 29);
}

/// Writes the bytes from `first` (a multiple of 8) on.
inline void fill_payload(std::span<std::byte> payload, std::uint64_t seed, std::size_t first, std::size_t end) noexcept {
  for (std::size_t at = first; at < end; at += 8) {
    const std::uint64_t word = payload_word(seed, at);
    std::memcpy(payload.data() + at, &word, end - at < 8 ? end - at : 8);
  }
}

[[nodiscard]] inline bool payload_matches(std::span<const std::byte> payload, std::uint64_t seed) noexcept {
  for (std::size_t at = 0; at < payload.size(); at += 8) {
    const std::uint64_t word = payload_word(seed, at);
    if (std::memcmp(payload.data() + at, &word, payload.size() - at < 8 ? payload.size() - at : 8) != 0) return false;
  }
  return true;
}

}  // namespace spindrift::sim
