// How many of the peer's receive buffers are free, without a message of its own for each: every operation that takes a
// buffer carries, as its immediate data, how many buffers its sender has given back so far.
//
// The invariant to remember: never more operations under way than the peer has buffers, so that nothing is ever refused
// there and stops what is behind it. The last `reserve` buffers are for messages that do nothing but tell: such a message is
// due after half of the buffers, and one buffer given back for it is told by the next, so two would be enough.
#pragma once

#include <cstdint>
#include <optional>

namespace spindrift::fabric::verbs {

/// The meaning of the immediate data of a message or a write.
struct Immediate {
  bool more = false;        ///< the message goes on in the next one
  std::uint32_t given = 0;  ///< buffers given back by the sender since the connection began, modulo 2^31
};
inline constexpr std::uint32_t given_mask = 0x7fff'ffff;
[[nodiscard]] constexpr std::uint32_t encode(const Immediate& said) noexcept {
  return (said.more ? ~given_mask : 0U) | (said.given & given_mask);
}
[[nodiscard]] constexpr Immediate decode_immediate(std::uint32_t word) noexcept {
  return {(word & ~given_mask) != 0, word & given_mask};
}

class Credits {
 public:
  static constexpr std::uint32_t buffers = 128;  ///< that each side has, from the beginning: part of the protocol
  static constexpr std::uint32_t reserve = 4;

  /// Whether one that takes a buffer may be posted; `tells`: it does nothing but tell.
  [[nodiscard]] bool may_post(bool tells) const noexcept { return under_way_ + (tells ? 0 : reserve) < buffers; }
  /// One that takes a buffer is posted; what its immediate data say of buffers.
  [[nodiscard]] std::uint32_t posted() noexcept {
    ++under_way_;
    told_ = given_;
    return given_ & given_mask;
  }
  /// The peer has said so, which is not to be trusted. False: it gave back what it never had.
  [[nodiscard]] bool on_told(std::uint32_t given) noexcept {
    const std::uint32_t more = (given - heard_) & given_mask;
    if (more > under_way_) return false;
    under_way_ -= more;
    heard_ = given & given_mask;
    return true;
  }
  void gave_back(std::uint32_t count) noexcept { given_ += count; }
  /// Whether the peer may be in want of what it has not been told.
  [[nodiscard]] bool telling_is_due() const noexcept { return given_ - told_ >= buffers / 2; }

 private:
  std::uint32_t under_way_ = 0;  ///< posted, and not known as given back by the peer
  std::uint32_t heard_ = 0;      ///< modulo 2^31
  std::uint32_t given_ = 0;
  std::uint32_t told_ = 0;
};

/// Space for bytes on their way, given back in the order in which it was taken.
class Staging {
 public:
  explicit Staging(std::uint64_t bytes) : bytes_(bytes) {}

  /// A piece in one: its offset. Nothing: no space now. `bytes` is at most a quarter of all.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t bytes) noexcept {
    const std::uint64_t whole = (bytes + line_bytes - 1) / line_bytes * line_bytes;
    const std::uint64_t offset = taken_ % bytes_;
    const std::uint64_t skipped = offset + whole > bytes_ ? bytes_ - offset : 0;
    if (taken_ + skipped + whole - free_before_ > bytes_) return std::nullopt;
    taken_ += skipped + whole;
    return (taken_ - whole) % bytes_;
  }
  /// The end of what was taken so far.
  [[nodiscard]] std::uint64_t end() const noexcept { return taken_; }
  /// Everything up to that end is free again.
  void give_back(std::uint64_t end) noexcept { free_before_ = end; }

 private:
  static constexpr std::uint64_t line_bytes = 64;
  const std::uint64_t bytes_;
  std::uint64_t taken_ = 0;  ///< both count up, for the life of the connection
  std::uint64_t free_before_ = 0;
};

}  // namespace spindrift::fabric::verbs
