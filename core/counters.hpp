// Counters that anybody on the host can read while the process runs, without touching its data path: one shared-memory file
// per node, one 8-byte word per counter, one writer each.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>

namespace spindrift {

/// One counter: written by one thread, read by anybody. Copies name the same counter.
class Counter {
 public:
  /// A counter that counts into nowhere, for code that runs without a block.
  Counter() noexcept : word_(&sink_) {}
  explicit Counter(std::uint64_t* word) noexcept : word_(word) {}

  void add(std::uint64_t amount) noexcept { set(get() + amount); }
  void set(std::uint64_t value) noexcept { std::atomic_ref(*word_).store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const noexcept { return std::atomic_ref(*word_).load(std::memory_order_relaxed); }

 private:
  static thread_local std::uint64_t sink_;
  std::uint64_t* word_;
};

/// Counters that were made together and lie one behind another, so that one lookup finds all of them.
class CounterRun {
 public:
  /// A run of no counters.
  CounterRun() noexcept = default;
  CounterRun(std::uint64_t* first, std::size_t stride) noexcept : first_(first), stride_(stride) {}
  /// `i` is below the count that the run was made with.
  [[nodiscard]] Counter operator[](std::size_t i) const noexcept { return Counter(first_ + i * stride_); }

 private:
  std::uint64_t* first_ = nullptr;
  std::size_t stride_ = 0;  ///< in words
};

struct CounterValue {
  std::string name;  ///< "subgroup.orders.delivered_messages"
  std::uint64_t value = 0;
};

/// The counters of one process. Lives in memory, or in a file that others can read.
class CounterBlock {
 public:
  /// In this process's memory only.
  [[nodiscard]] static CounterBlock in_memory(std::size_t capacity);
  /// In a fresh file at `path` (replaced if it exists; removed on destruction), with room for `capacity`. It grows up to
  /// `capacity_most` where more are made; if that is more than `capacity`, what finds no room any more
  /// counts into nowhere, and the log says so once. Errors: resource.
  [[nodiscard]] static Result<CounterBlock> in_file(const std::string& path, std::size_t capacity,
                                                    std::size_t capacity_most = 0);
  /// The counters in another process's file as they are now. Validates every byte. Errors: bad_input, resource.
  [[nodiscard]] static Result<std::vector<CounterValue>> read_file(const std::string& path);

  CounterBlock(CounterBlock&& other) noexcept;
  CounterBlock& operator=(CounterBlock&& other) noexcept;
  ~CounterBlock();

  /// The counter of that name, made on first use. Names: 1 … 119 characters, no spaces. Of a block that does not grow,
  /// CHECKs the capacity: callers know how many they make. Not thread-safe.
  [[nodiscard]] Counter counter(std::string_view name);
  /// The same for `count` counters, 1 or more, that are made by this call alone: on first use, which is when there is none
  /// of the name `name_of(0)`. Only then `name_of` is asked for the others' names.
  [[nodiscard]] CounterRun run(std::size_t count, const std::function<std::string(std::size_t)>& name_of);

  [[nodiscard]] std::vector<CounterValue> values() const;  ///< any thread

 private:
  class Storage;
  explicit CounterBlock(std::unique_ptr<Storage> storage) noexcept;
  std::unique_ptr<Storage> storage_;
};

}  // namespace spindrift
