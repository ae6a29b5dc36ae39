// A payload is written and read in one way when a bench says "touched": all of it is copied in, one byte of every line is
// read. The limits and the group share this code, so that they are compared over the same work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <spindrift/core/ids.hpp>

namespace spindrift::bench {

[[nodiscard]] inline std::uint64_t read_lines(std::span<const std::byte> payload) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < payload.size(); at += cache_line_bytes) sum += static_cast<std::uint64_t>(payload[at]);
  return sum;
}

/// Takes a value so that the compiler cannot leave its computation out.
inline void keep(std::uint64_t value) noexcept { asm volatile("" : : "r"(value)); }

}  // namespace spindrift::bench
