// Stands before core/untrusted.hpp where the multicast is compiled for torn_reads_test.cpp: everything else may happen
// before each read of shared memory, and behind each store to it.
#pragma once

#include "../../../../../core/untrusted.hpp"

namespace spindrift::torn {

/// Lets other members, threads and the network act.
void interleave();

[[nodiscard]] inline std::uint64_t load(const std::byte* at) {
  interleave();
  return load_acquire(at);
}
inline void store(std::byte* at, std::uint64_t value) {
  store_release(at, value);
  interleave();
}

}  // namespace spindrift::torn

#define load_acquire(at) ::spindrift::torn::load(at)
#define read_word(at) ::spindrift::Untrusted<std::uint64_t>(::spindrift::torn::load(at))
#define store_release(at, value) ::spindrift::torn::store(at, value)
