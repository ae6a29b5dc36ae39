// Copies into memory that others read and out of memory that others write. The invariant: an aligned 8-byte word is stored
// and loaded whole, so that nobody sees a torn one.
#pragma once

#include <cstddef>

namespace spindrift::fabric {

/// To memory that others read: aligned 8-byte words are stored whole, and every store is a release, so that no byte of a
/// later copy is visible before all bytes of an earlier one.
void copy_to_shared(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// From memory that others write: aligned 8-byte words are loaded whole.
void copy_from_shared(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

}  // namespace spindrift::fabric
