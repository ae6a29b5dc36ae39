// Memory for samples, which as a rule one thread takes and another one gives back: a heap locks for that, and finds the
// bytes cold. Here the block that was given back last is taken first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace spindrift::topics {

/// Blocks of one size. Keeps those that were given back for those that are asked for, at most `kept_bytes_max` twice over;
/// the others go back to the heap. Any thread.
class SampleMemory {
 public:
  static constexpr std::size_t kept_bytes_max = std::size_t{4} << 20U;

  /// For blocks of so many bytes, at least `bytes_min`.
  explicit SampleMemory(std::size_t bytes) noexcept;
  ~SampleMemory();
  SampleMemory(const SampleMemory&) = delete;
  SampleMemory& operator=(const SampleMemory&) = delete;

  /// Throws std::bad_alloc.
  [[nodiscard]] void* get();
  /// A block of `get`'s.
  void put(void* block) noexcept;

  /// A block that nobody has.
  struct Spare {
    Spare* next;
  };
  static constexpr std::size_t bytes_min = sizeof(Spare);

 private:
  const std::size_t bytes_;
  const std::size_t kept_max_;
  // Each block goes on top, and all of them are taken at once: so none can be on top, gone, and on top again unseen.
  std::atomic<Spare*> returned_{nullptr};
  std::atomic<std::size_t> returned_count_{0};  // about
  std::atomic_flag taking_{};                   // one at a time takes from:
  Spare* ready_ = nullptr;
};

/// The blocks of that size that this process has. They stay to its end, since a sample may be in a static object.
template <std::size_t bytes>
[[nodiscard]] SampleMemory& sample_memory() {
  static SampleMemory& memory = *new SampleMemory(bytes);
  return memory;
}

/// For std::allocate_shared, which turns it into an allocator of what it makes.
template <class T>
struct SampleAllocator {
  using value_type = T;
  SampleAllocator() noexcept = default;
  template <class Other>
  SampleAllocator(const SampleAllocator<Other>& /*unused*/) noexcept {}

  [[nodiscard]] T* allocate(std::size_t count) {
    if (!fits(count)) return std::allocator<T>().allocate(count);
    return static_cast<T*>(sample_memory<bytes>().get());
  }
  void deallocate(T* at, std::size_t count) noexcept {
    if (!fits(count)) return std::allocator<T>().deallocate(at, count);
    sample_memory<bytes>().put(at);
  }
  friend bool operator==(const SampleAllocator& /*unused*/, const SampleAllocator& /*unused*/) noexcept { return true; }

 private:
  static constexpr std::size_t bytes = sizeof(T) < SampleMemory::bytes_min ? SampleMemory::bytes_min : sizeof(T);
  [[nodiscard]] static constexpr bool fits(std::size_t count) noexcept {
    return count == 1 && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  }
};

}  // namespace spindrift::topics
