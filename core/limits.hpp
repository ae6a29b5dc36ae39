// The limits that the operating system sets a process: errors that name the limit and how to raise it, and threads
// whose start can fail.
#pragma once

#include <cstddef>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <spindrift/core/result.hpp>

namespace spindrift {

/// The limit behind a system call's error number, with its value and what raises it; nothing: none is known to be.
[[nodiscard]] std::optional<Error> limit_behind(int error_number);
/// That this process can open no more files.
[[nodiscard]] Error out_of_descriptors();
/// Whether it can open one more at this moment.
[[nodiscard]] bool descriptors_left() noexcept;
/// How many more it can open by its own limit; nothing: that cannot be told. The time grows with how many are open.
[[nodiscard]] std::optional<std::size_t> descriptors_free() noexcept;
/// That this process gets no more memory.
[[nodiscard]] Error out_of_memory();
/// That no thread could be started.
[[nodiscard]] Error out_of_threads(const std::system_error& why);

/// Starts a thread that does `work`. Errors: resource.
template <class Work>
[[nodiscard]] Result<std::thread> start_thread(Work work) {
  try {
    return std::thread(std::move(work));
  } catch (const std::system_error& why) {
    return out_of_threads(why);
  }
}

}  // namespace spindrift
