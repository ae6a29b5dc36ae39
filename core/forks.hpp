// Things that a process has for itself alone, and no child that it forks: descriptors by which others know that it lives,
// and objects that belong to it. A child that executes another program has none of them anyway.
//
// The invariant to remember: a child never ends, and never speaks on, a connection of its parent's.
#pragma once

#include <atomic>
#include <cstdint>

namespace spindrift {

namespace forks {
extern std::atomic<std::uint32_t> generation;  // written in a child alone, before fork returns there
}

/// As many forks lie between this process and the first one of its program: whoever made something under another number was
/// another process. Counts from the first descriptor that is kept from children. Any thread.
[[nodiscard]] inline std::uint32_t process_generation() noexcept {
  return forks::generation.load(std::memory_order_relaxed);
}

/// From now on a child that is forked has /dev/null at this open descriptor's number, and nothing of what is behind it.
/// Any thread.
void keep_from_children(int descriptor);
/// Closes a descriptor that is kept from children. Any thread.
void close_kept(int descriptor) noexcept;

}  // namespace spindrift
