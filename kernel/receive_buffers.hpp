// The receive buffers of one queue pair, or of a queue that several share: each is free, or with the adapter, or with the
// owner of the queue pair until that gives it back. An adapter fills them: a network card, or libfabric.
//
// Remember: a buffer's id names the life of the queue pair. What an owner gives back after that life is ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/kernel/physical.hpp>

namespace spindrift::kernel {

class ReceiveBuffers {
 public:
  explicit ReceiveBuffers(const DeviceSizes& sizes)
      : buffer_bytes_(sizes.message_bytes_max), places_(sizes.receive_buffers, With::nobody) {}

  /// All buffers are free from here on; the life before is over. Takes memory the first time.
  void start(std::uint32_t life);
  /// The memory of all buffers, to be registered. After `start`.
  [[nodiscard]] std::span<std::byte> memory() noexcept { return {memory_.get(), places_.size() * buffer_bytes_}; }
  [[nodiscard]] std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(places_.size()); }

  struct Buffer {
    std::uint32_t place = 0;
    std::span<std::byte> bytes;
  };
  /// A free one, which stays free until `lend`.
  [[nodiscard]] std::optional<Buffer> next_free() const noexcept;
  /// The adapter has taken the one that `next_free` gave.
  void lend() noexcept;
  /// All that are free; the adapter has them from here on.
  [[nodiscard]] std::vector<Buffer> lend_all();

  /// The adapter has put a message there. `bytes` is its word.
  [[nodiscard]] PhysicalEvent received(std::uint32_t place, std::size_t bytes);
  /// The adapter has used it up without a message.
  void spent(std::uint32_t place);
  /// By the id that `received` said.
  void give_back(std::uint64_t id);

 private:
  enum class With : std::uint8_t { nobody, adapter, owner };

  [[nodiscard]] std::span<std::byte> bytes_of(std::uint32_t place) const noexcept {
    return {memory_.get() + place * buffer_bytes_, buffer_bytes_};
  }

  const std::size_t buffer_bytes_;
  std::uint32_t life_ = 0;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<With> places_;
  std::vector<std::uint32_t> free_;
};

}  // namespace spindrift::kernel
