// Calls of the room rpc between two processes that spin, over UDP on loopback and through shared memory; and what carries
// them, without any protocol: datagrams that are echoed.
#pragma once

#include <cstdint>
#include <vector>

#include <spindrift/core/clock.hpp>

namespace spindrift::bench {

enum class CallCarrier : std::uint8_t { udp, shm };

/// Calls and their answers have so many bytes, and the datagrams of an echo those of a call's packet.
inline constexpr std::size_t call_bytes = 32;

/// The outcome of a run of calls.
struct CallsMeasured {
  std::vector<std::uint64_t> latencies_ns;  ///< of each batch, from its first call to its last answer
  double per_second = 0;                    ///< calls, while the batches followed each other
  std::uint64_t packets = 0;                ///< that the client sent
  std::uint64_t retransmissions = 0;
};

/// A client makes `batch` calls at once, waits for all of their answers, and goes on so for `duration`. Errors: resource,
/// unsupported with one CPU.
[[nodiscard]] CallsMeasured measure_calls(CallCarrier carrier, std::uint32_t batch, Duration duration);

/// The same with datagrams that a process echoes: one system call for each with a batch of 1 (sendto, recvfrom), else as few
/// as there can be (sendmmsg, recvmmsg). A datagram that is lost ends the run. Errors: as above; timed_out.
[[nodiscard]] CallsMeasured measure_echo(std::uint32_t batch, Duration duration);

}  // namespace spindrift::bench
