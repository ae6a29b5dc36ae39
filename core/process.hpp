// The kernel's word on processes and threads of this host.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include <spindrift/core/file_descriptor.hpp>

namespace spindrift {

/// A process, by its first thread, or a thread.
struct TaskState {
  char state = 0;             ///< as ps prints it: R, S, D, T, t, Z, X, …
  unsigned long flags = 0;    ///< the kernel's PF_…
  std::uint64_t started = 0;  ///< clock ticks since boot

  /// The kernel takes it down, or has: it marks each thread of a process before it closes what the process had.
  [[nodiscard]] bool is_ending() const noexcept;
};
/// Nothing: there is none of that id, or it cannot be looked at. Any thread.
[[nodiscard]] std::optional<TaskState> task_state(pid_t process);
/// The same of a thread of that process.
[[nodiscard]] std::optional<TaskState> task_state(pid_t process, pid_t thread);

/// A descriptor that is readable when the process has ended; empty, with errno, if there is none.
[[nodiscard]] FileDescriptor open_process(pid_t process) noexcept;
/// Whether the process of such a descriptor is dead or dying: also while it still ends, when its sockets are closed already;
/// and where it cannot be looked at.
[[nodiscard]] bool is_over(const FileDescriptor& handle, pid_t process);

}  // namespace spindrift
