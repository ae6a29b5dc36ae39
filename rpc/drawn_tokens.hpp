// Tokens that nobody can guess, for endpoints in processes; those of the simulator and of tests are counted.
#pragma once

#include <spindrift/rpc/calls.hpp>

namespace spindrift::rpc {

class DrawnTokens final : public TokenSource {
 public:
  /// From the system's source. Throws std::exception where there is none. Any thread.
  [[nodiscard]] std::uint64_t next_token() override;
};

}  // namespace spindrift::rpc
