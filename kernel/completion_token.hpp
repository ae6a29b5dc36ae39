// What an adapter gives back with a completion: which queue pair in which of its lives, and which request or buffer of it.
#pragma once

#include <cstdint>

namespace spindrift::kernel {

struct CompletionToken {
  std::uint32_t life = 0;  ///< below 2^31; never used twice in a device
  bool receive = false;
  std::uint32_t which = 0;
};

[[nodiscard]] constexpr std::uint64_t encode(const CompletionToken& token) noexcept {
  return std::uint64_t{token.life} << 33U | std::uint64_t{token.receive ? 1U : 0U} << 32U | token.which;
}
[[nodiscard]] constexpr CompletionToken decode_token(std::uint64_t word) noexcept {
  return {static_cast<std::uint32_t>(word >> 33U), (word >> 32U & 1U) != 0, static_cast<std::uint32_t>(word)};
}

}  // namespace spindrift::kernel
