// Packets in a stream of bytes, each behind its length: 4 bytes, little-endian. What comes is checked once, here: a length
// is that of a packet, or the stream is worth nothing any more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>

namespace spindrift::rpc {

inline constexpr std::size_t frame_head_bytes = 4;

/// Cuts what comes into packets. The memory that it takes grows with what has come, not with what a head says; it is at most
/// two packets of full size, or 64 KiB if that is more.
class PacketFrames {
 public:
  explicit PacketFrames(std::size_t packet_bytes_max) : packet_bytes_max_(packet_bytes_max) {}

  /// Reads once; the number of bytes that came. Packets that are complete are to be taken before. Errors: the stream's.
  [[nodiscard]] Result<std::size_t> read(fabric::tcp::ByteStream& stream);
  /// Takes the next packet, whose bytes stay until the next `read`; nothing: it is not complete. Errors: bad_input (what no
  /// correct process sends), from then on.
  [[nodiscard]] Result<std::optional<std::span<const std::byte>>> next();
  /// Whether `next` would have something to say.
  [[nodiscard]] bool complete() const noexcept;

 private:
  [[nodiscard]] std::optional<std::size_t> length() const noexcept;
  [[nodiscard]] bool possible(std::size_t length) const noexcept;
  void make_room();

  std::size_t packet_bytes_max_;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;  ///< of what was not taken
  std::size_t end_ = 0;    ///< of what came
};

/// Packets on their way out, as bytes, up to a bound.
class OutgoingPackets {
 public:
  explicit OutgoingPackets(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// False: there is no room for it.
  [[nodiscard]] bool put(std::span<const std::byte> header, std::span<const std::byte> payload);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size() - begin_; }
  /// Hands them to the stream, as far as it takes them; whether all have left this process. Errors: the stream's.
  [[nodiscard]] Result<bool> flush(fabric::tcp::ByteStream& stream);

 private:
  std::size_t bytes_max_;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;  ///< of what has not left
};

}  // namespace spindrift::rpc
