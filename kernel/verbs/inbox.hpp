// Receive buffers of a queue pair, or of the queue that a DC target shares among its peers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel::verbs {

/// A buffer is with the adapter, with the owner, or on its way back to the adapter.
class Inbox {
 public:
  /// `life`: of the queue pair, at the head of buffers' ids.
  Inbox(const DeviceSizes& sizes, std::uint32_t life);

  /// All buffers, which are to be registered.
  [[nodiscard]] std::span<std::byte> memory() noexcept { return memory_; }
  void set_key(std::uint32_t key) noexcept { key_ = key; }

  [[nodiscard]] std::uint32_t places() const noexcept { return static_cast<std::uint32_t>(places_.size()); }
  struct Buffer {
    std::uint32_t place = 0;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    std::uint32_t key = 0;
  };
  /// What the adapter is to have: all at first, then each that came back. Its own from then on.
  [[nodiscard]] std::vector<Buffer> take_free();
  [[nodiscard]] bool has_free() const noexcept { return !free_.empty(); }
  /// The adapter has filled it, or used it up without bytes (`spent`). Places come from the adapter alone.
  [[nodiscard]] PhysicalEvent received(std::uint32_t place, std::size_t bytes);
  void spent(std::uint32_t place);
  /// By the owner; ids of earlier lives are ignored.
  void give_back(std::uint64_t id);

 private:
  enum class With : std::uint8_t { nobody, adapter, owner };

  const std::uint32_t life_;
  const std::size_t buffer_bytes_;
  std::uint32_t key_ = 0;
  std::vector<std::byte> memory_;
  std::vector<With> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace spindrift::kernel::verbs
