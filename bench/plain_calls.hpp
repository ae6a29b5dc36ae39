// A call over TCP that nobody replicates, and bytes that a socket echoes, between two processes that sleep while there is
// nothing to do.
#pragma once

#include <cstdint>
#include <vector>

namespace spindrift::bench {

/// Nanoseconds of each of so many calls of a room rpc's endpoint over TCP, with as many bytes of request; its answer has 8.
/// Throws Exception: resource, member_lost, would_block.
[[nodiscard]] std::vector<std::uint64_t> plain_call_latencies_ns(std::uint64_t bytes, std::uint64_t calls);

/// The same of bytes that go through a TCP socket and come back. Throws likewise.
[[nodiscard]] std::vector<std::uint64_t> echo_latencies_ns(std::uint64_t bytes, std::uint64_t exchanges);

}  // namespace spindrift::bench
