// Who hands a large message on to whom: a function of the subgroup's members, the sender and the message alone, so that
// everybody knows without a word from whom a message comes and to whom it goes.
//
// Members are named by their positions in the subgroup. `ordinal` counts the large messages of one sender in one view from
// 0; abandoned ones do not count. docs/decisions/0014-large-messages-by-rotation.md has the measurements.
#pragma once

#include <bit>
#include <cstdint>

namespace spindrift::smc {

enum class Relay : std::uint8_t {
  direct,    ///< the sender writes to everybody
  rotation,  ///< the sender writes to one member, that one to all others; with every message it is the next one's turn
  chain,     ///< each writes to the next; for experiments
  tree,      ///< a binomial tree (RDMC, section 4.3, without blocks: messages are the blocks); for experiments
};

/// From whom `member` gets that message; `sender` if from the sender itself. `member` is not the sender, there are at least
/// two members.
[[nodiscard]] constexpr std::uint32_t relay_source(Relay relay, std::uint32_t members, std::uint32_t sender,
                                                   std::uint64_t ordinal, std::uint32_t member) noexcept {
  const std::uint32_t others = members - 1;
  const auto turn = static_cast<std::uint32_t>(ordinal % others);
  const std::uint32_t place = (member + members - sender) % members - 1;  // among the others, who follow the sender
  const auto position_of = [&](std::uint32_t at) { return (sender + 1 + at) % members; };
  switch (relay) {
    case Relay::direct: return sender;
    case Relay::rotation: return place == turn ? sender : position_of(turn);
    case Relay::chain: return place == 0 ? sender : position_of(place - 1);
    case Relay::tree: {
      const std::uint32_t node = (place + others - turn) % others + 1;
      const std::uint32_t parent = node - std::bit_floor(node);
      return parent == 0 ? sender : position_of((parent - 1 + turn) % others);
    }
  }
  return sender;
}

}  // namespace spindrift::smc
