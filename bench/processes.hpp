// Processes and memory of one measurement: memory that forked processes share, processes that run one body each, and a gate
// that they pass together. Fork only while this process has one thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::bench {

/// A word on a cache line of its own, for memory that several processes write.
struct alignas(cache_line_bytes) SharedWord {
  std::atomic<std::uint64_t> value{0};
};

/// Zeroed memory that this process and the processes it forks later have in common, in place before it is used.
class SharedMemory {
 public:
  /// Errors: resource.
  [[nodiscard]] static SharedMemory make(std::size_t bytes);

  SharedMemory(SharedMemory&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
  }
  ~SharedMemory();

  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
  /// `count` objects of T, default-constructed in place. `offset` keeps T's alignment; all of it lies in the memory.
  template <class T>
  [[nodiscard]] std::span<T> make_objects(std::size_t offset, std::size_t count) const {
    SPINDRIFT_CHECK(offset % alignof(T) == 0 && offset + count * sizeof(T) <= memory_.size());
    T* first = reinterpret_cast<T*>(memory_.data() + offset);
    for (std::size_t position = 0; position < count; ++position) new (first + position) T();
    return {first, count};
  }

 private:
  explicit SharedMemory(std::span<std::byte> memory) noexcept : memory_(memory) {}
  std::span<std::byte> memory_;
};

/// Runs `body(0)` … `body(count − 1)`, each in a forked process of its own, and returns when all have ended. What a body
/// throws ends its process; then, or after `patience`, the remaining ones are killed and the first reason is returned.
/// Errors: resource; whatever kind a body threw; member_lost if a process crashed; would_block if time ran out.
void run_processes(std::uint32_t count, Duration patience, const std::function<void(std::uint32_t)>& body);

/// Processes that are started and ended one at a time, each by its number. What is left of them is killed with this object.
class StartedProcesses {
 public:
  explicit StartedProcesses(std::size_t count) : processes_(count, -1) {}
  ~StartedProcesses();
  StartedProcesses(const StartedProcesses&) = delete;
  StartedProcesses& operator=(const StartedProcesses&) = delete;

  /// Runs `body` in a forked process, which ends with the code that it returns. Nothing of that number runs. Throws
  /// Exception: resource.
  void start(std::size_t number, const std::function<int()>& body);
  /// Sends the signal, unless it is 0, and waits for the end of the process, if there is one.
  void end(std::size_t number, int signal) noexcept;
  /// Whether the process has ended without having been told to; its end is told once.
  [[nodiscard]] bool take_ended(std::size_t number) noexcept;

 private:
  std::vector<pid_t> processes_;  // by number; −1: none
};

/// Returns what the work does. An Exception of it comes out as the cause of one that says what was going on.
template <class What, class Work>
auto explained(What what, Work work) {
  try {
    return work();
  } catch (const Exception& failure) {
    throw Exception(Error(failure.error().kind(), what()).because(failure.error()));
  }
}

/// Wakes up to `count` processes that sleep on the word.
void futex_wake(SharedWord& word, int count) noexcept;
/// Sleeps while the word is `seen`, or for no reason. The futex is the word's low half (little-endian).
void futex_wait(SharedWord& word, std::uint64_t seen) noexcept;

/// Processes wait for each other here.
class Gate {
 public:
  /// Waits, yielding, to start together. Returns when `count` processes are here: the instant when the last one came, in
  /// nanoseconds_now(), to all the same.
  [[nodiscard]] std::uint64_t pass(std::uint64_t count) noexcept;
  /// Sleeps until `count` processes are here: whoever is not yet, has the machine for itself.
  void pass_asleep(std::uint64_t count) noexcept;

 private:
  SharedWord arrived_;
  SharedWord opened_at_ns_;
};

/// Sets the name by which profilers call this thread and those that it starts; at most 15 characters.
void name_thread(const char* name) noexcept;

/// Sleeps for as long, for measurements that take a time; not for what an event could tell.
void pause_for(Duration time) noexcept;

/// Binds this process to one of the CPUs that it may use, by position among them. False if there is no such CPU.
[[nodiscard]] bool pin_to_cpu(std::uint32_t position) noexcept;

/// The machine's monotonic clock, comparable between its processes.
[[nodiscard]] std::uint64_t nanoseconds_now() noexcept;
[[nodiscard]] inline double seconds_between(std::uint64_t start_ns, std::uint64_t end_ns) noexcept {
  return static_cast<double>(end_ns - start_ns) * 1e-9;
}

}  // namespace spindrift::bench
