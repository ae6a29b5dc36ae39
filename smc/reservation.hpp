// Space in a sender's ring, between reserving and committing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace spindrift::smc {

/// Space for one message. Must be committed or abandoned, by the thread that reserved it, soon: later records of this
/// sender wait for it.
struct Reservation {
  std::span<std::byte> payload;  ///< uninitialized; 8-byte aligned
  std::byte* header = nullptr;
  std::uint64_t number = 0;      ///< modulo 2^24
  std::uint64_t after = 0;       ///< the packed tail behind this record
};

}  // namespace spindrift::smc
