// Drawing by the standard library, which asks the system.
#include <spindrift/rpc/drawn_tokens.hpp>

#include <random>

namespace spindrift::rpc {

std::uint64_t DrawnTokens::next_token() {
  std::random_device random;
  return (std::uint64_t{random()} << 32U) | random();
}

}  // namespace spindrift::rpc
