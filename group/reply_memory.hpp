// The memory in which results are put together, one after the other.
#pragma once

#include <cstddef>
#include <vector>

namespace spindrift::replicated {

/// Begins the next one with so many bytes for a head. The memory of the one before is used again, but a large one's is given
/// back: it would stay for as long as the object lives.
inline void begin_reply(std::vector<std::byte>& reply, std::size_t head_bytes) {
  constexpr std::size_t kept_memory_max = std::size_t{1} << 20U;
  if (reply.capacity() > kept_memory_max) reply = {};
  reply.assign(head_bytes, std::byte{});
}

}  // namespace spindrift::replicated
