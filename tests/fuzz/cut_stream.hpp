// A stream that hands out an input in parts of one size, for targets that read frames: however it is cut, the same comes
// out, and no more memory is taken than came.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include <spindrift/fabric/tcp/byte_stream.hpp>

#include "fuzz.hpp"

namespace spindrift::fuzz {

class CutStream final : public fabric::tcp::UnprovenStream {
 public:
  /// The most memory that may be offered for a read: so much from the beginning on, and so many times what has come.
  struct Room {
    std::size_t first;
    std::size_t times;
  };

  CutStream(std::span<const std::byte> bytes, std::size_t at_once, const Room& room)
      : rest_(bytes), at_once_(at_once), room_(room) {}

  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> to) override {
    expect(to[0].iov_len > 0 && to[0].iov_len <= room_.times * came_ + room_.first, "memory grows with what came");
    const std::size_t count = std::min({to[0].iov_len, at_once_, rest_.size()});
    std::copy_n(rest_.begin(), count, static_cast<std::byte*>(to[0].iov_base));
    rest_ = rest_.subspan(count);
    came_ += count;
    return count;
  }
  [[nodiscard]] std::size_t known() const noexcept override { return rest_.size(); }
  [[nodiscard]] bool holds_bytes() const noexcept override { return !rest_.empty(); }
  [[nodiscard]] Result<std::size_t> write(std::span<const iovec>) override { return 0; }
  [[nodiscard]] Result<bool> flush() override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }

 private:
  std::span<const std::byte> rest_;
  const std::size_t at_once_;
  const Room room_;
  std::size_t came_ = 0;
};

}  // namespace spindrift::fuzz
