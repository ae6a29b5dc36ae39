// The plan of a run of calls: drawn from its seed, each run with some kinds of trouble and without others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <spindrift/rpc/options.hpp>

#include "scheduler.hpp"

namespace spindrift::sim {

inline constexpr Ticks microsecond = 1000;
inline constexpr Ticks millisecond = 1000 * microsecond;

/// Things that happen to packets, in thousandths of them, until the run is healed.
struct PacketTrouble {
  std::uint32_t lost = 0;
  std::uint32_t twice = 0;
  std::uint32_t strange = 0;  ///< copies with changed bytes, of which the token is one
  std::int32_t hostile = -1;  ///< the node whose packets are changed as they like, tokens and all; −1: none
  Ticks delay = 0;
  Ticks jitter = 0;  ///< beyond the delay: packets overtake each other
};

struct RpcFault {
  enum class Kind : std::uint8_t { crash, pause, cut, hang_up };
  Kind kind{};
  std::uint32_t node = 0;
  std::uint32_t other = 0;  ///< of a cut, and of a connection that ends
  Ticks at = 0;
  Ticks lasts = 0;
};

struct RpcPlan {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 2;
  std::uint32_t calls = 0;  ///< of each node, before the run is healed
  std::size_t payload_bytes = 512;
  std::uint64_t bytes_max = 0;  ///< of a request or response
  Ticks between_calls = 0;
  Ticks handler_delay_max = 0;  ///< of handlers that answer later
  std::uint32_t later = 0;      ///< of a thousand requests, how many are answered later
  std::uint32_t nested = 0;     ///< likewise, after a call of the handler's own
  std::uint32_t given_up = 0;   ///< likewise, canceled or with a deadline
  std::uint32_t closed = 0;     ///< likewise, calls behind which their session is closed
  Ticks healed_at = 0;
  bool scarce = false;  ///< credits do not suffice for all sessions
  rpc::RpcOptions options;
  PacketTrouble packets;
  std::vector<RpcFault> faults;

  [[nodiscard]] static RpcPlan of(std::uint64_t seed);
  /// Whether a session may be lost through no fault of a side.
  [[nodiscard]] bool can_lose_sessions() const noexcept { return packets.lost > 0 || !faults.empty(); }
  /// Whether a server may have no memory for a message.
  [[nodiscard]] bool scarce_memory() const noexcept {
    return options.kept_bytes_max < rpc::RpcOptions{}.kept_bytes_max;
  }
  [[nodiscard]] std::string describe() const;
};

}  // namespace spindrift::sim
