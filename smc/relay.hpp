// Which member hands a large message on to which: a function of the subgroup's members, the sender and the message alone, so
// that everybody knows without a word from whom a message comes and to whom it goes.
//
// docs/decisions/0014-large-messages-by-rotation.md has the measurements; ways that only experiments take are in
// smc/ablation.hpp.
#pragma once

#include <cstdint>

namespace spindrift::smc {

/// From whom `member` gets a message; `sender` if from the sender itself. Members, of whom there are at least two, are named
/// by their positions in the subgroup; `member` is not the sender. `ordinal` counts the large messages of one sender in one
/// view from 0; abandoned ones do not count.
using Relay = std::uint32_t (*)(std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal, std::uint32_t member);

namespace relay {

/// The sender writes to everybody.
[[nodiscard]] constexpr std::uint32_t direct(std::uint32_t, std::uint32_t sender, std::uint64_t, std::uint32_t) noexcept {
  return sender;
}
/// The sender writes to one member, that one to all others; with every message it is the next one's turn.
[[nodiscard]] constexpr std::uint32_t rotation(std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal,
                                               std::uint32_t member) noexcept {
  const auto first = (sender + 1 + static_cast<std::uint32_t>(ordinal % (members - 1))) % members;
  return member == first ? sender : first;
}

}  // namespace relay
}  // namespace spindrift::smc
