// Pieces of registered memory that a pool's reads go into, all of one size. A read whose pair was closed may still be on its
// way: its piece is parked until that pair is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/kernel/pool.hpp>

namespace spindrift::kernel {

class ReadBuffers {
 public:
  using Buffer = std::uint32_t;

  ReadBuffers(std::uint32_t count, std::size_t bytes_each) : bytes_each_(bytes_each), memory_(count * bytes_each) {
    while (count-- > 0) free_.push_back(count);
  }

  /// Errors: those of the pool.
  [[nodiscard]] Result<void> register_with(Pool& pool) {
    SPINDRIFT_TRY_ASSIGN(keys_, pool.register_local(memory_));
    return {};
  }
  /// Nothing if none is free.
  [[nodiscard]] std::optional<Buffer> take() {
    if (free_.empty()) return std::nullopt;
    const Buffer taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void give_back(Buffer buffer) { free_.push_back(buffer); }
  /// The pair was closed while a read of it into the buffer was under way.
  void park(Buffer buffer, PairId pair) { parked_.push_back({pair, buffer}); }
  /// Those whose pair is gone are free again.
  void take_parked(const Pool& pool) {
    std::erase_if(parked_, [&](const Parked& parked) {
      const bool gone = pool.is_gone(parked.pair);
      if (gone) give_back(parked.buffer);
      return gone;
    });
  }

  [[nodiscard]] const MemoryKeys& keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<std::byte> bytes_of(Buffer buffer) noexcept {
    return std::span(memory_).subspan(buffer * bytes_each_, bytes_each_);
  }

 private:
  struct Parked {
    PairId pair;
    Buffer buffer;
  };

  const std::size_t bytes_each_;
  std::vector<std::byte> memory_;
  MemoryKeys keys_;
  std::vector<Buffer> free_;
  std::vector<Parked> parked_;
};

}  // namespace spindrift::kernel
