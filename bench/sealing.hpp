// The cost of sealing by itself on this machine: the part that the CPU adds to the way between hosts when all that travels
// is encrypted and authenticated.
#pragma once

#include <cstdint>

#include <spindrift/core/clock.hpp>

namespace spindrift::bench {

/// The most that one record of TLS holds, as the fabric fills them.
inline constexpr std::uint64_t sealed_record_bytes = 16 * 1024;

/// Bytes per second that so many processes at once seal and open again, all together, with AES-256-GCM as OpenSSL has it, in
/// records of TLS's size, each with a nonce of its own and its header authenticated. A byte counts once: it has been sealed
/// and opened. Errors: resource, would_block.
[[nodiscard]] double sealing_bytes_per_second(std::uint32_t processes, Duration duration);

}  // namespace spindrift::bench
