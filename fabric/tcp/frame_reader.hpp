// From a stream of bytes to frames. Pure: the reader of the socket puts bytes in and takes pieces of frames out; the bytes
// of a large write need not pass through here, but may go straight from the socket to their place.
//
// The invariant to remember: pieces of a write end at aligned 8-byte words of the peer's region, the last one aside, so that
// nobody who looks between two pieces sees a torn word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/frame.hpp>

namespace spindrift::fabric::tcp {

class FrameReader {
 public:
  /// Some bytes of a frame: of messages and reads all at once, of writes and replies as far as they have come.
  struct Piece {
    FrameHeader header;
    std::uint64_t done = 0;            ///< bytes of the frame before these
    std::span<const std::byte> bytes;  ///< valid until the next call of `room`
    bool last = false;
  };
  /// The rest of a write or a reply, still to come, of which all whole words were taken.
  struct Rest {
    FrameHeader header;
    std::size_t gap = 0;     ///< the next bytes of the stream complete a word that has begun here: they go to `room`
    std::uint64_t done = 0;  ///< bytes of the frame with that word
    std::size_t word = 0;    ///< bytes of it from the one that was taken last to the end of that word
    [[nodiscard]] std::uint64_t bytes() const noexcept { return header.bytes - done; }
  };
  static constexpr std::size_t buffer_bytes = 128U << 10U;

  FrameReader() : buffer_(std::make_unique_for_overwrite<std::byte[]>(buffer_bytes)) {}

  /// The space to which the next bytes of the stream may go; never empty once all pieces were taken.
  [[nodiscard]] std::span<std::byte> room() noexcept;
  /// So many came to where `room` said.
  void came(std::size_t bytes) noexcept { end_ += bytes; }
  /// Bytes before the first frame, once they are all here: a greeting. Nothing: they are not.
  [[nodiscard]] std::optional<std::span<const std::byte>> take_bytes(std::size_t bytes) noexcept;
  /// The next piece; nothing: more bytes have to come first. Errors: refused (no frame of this protocol); then there is no
  /// way on.
  [[nodiscard]] Result<std::optional<Piece>> take();
  /// Nothing: the next bytes of the stream are a header's, or of a frame that has to be whole first.
  [[nodiscard]] std::optional<Rest> rest() const noexcept;
  /// So many bytes behind what was taken have gone to their place by another way.
  void landed(std::size_t bytes) noexcept;
  /// Whether the frames of late were large, so that little but headers is worth being read in advance.
  [[nodiscard]] bool large_frames() const noexcept { return large_frames_; }
  /// Whether bytes wait here that `take` might make something of.
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }

 private:
  [[nodiscard]] std::span<const std::byte> here() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::optional<Piece> take_part(FrameHeader& header);

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::optional<FrameHeader> header_;  ///< of the frame that is being taken
  std::uint64_t done_ = 0;             ///< of its bytes
  bool large_frames_ = false;
};

}  // namespace spindrift::fabric::tcp
