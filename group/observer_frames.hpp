// The frames between a member and an observer of another host: the packets of observers of its own host, and what those read
// in shared memory. Each has a head of 8 bytes, the kind and the size of what follows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/tcp/byte_stream.hpp>
#include <spindrift/group/feed_ring.hpp>
#include <spindrift/group/observer_calls.hpp>

namespace spindrift::group {

struct ObserverFrame {
  enum class Kind : std::uint32_t {
    packet = 1,  ///< an ObserverPacket
    record = 2,  ///< a FeedRecord, and its payload unless it is omitted
    end = 3,     ///< a FeedEnd: what was delivered up to there was sent before, or left out
    alive = 4,   ///< nothing to say
  };
  Kind kind = Kind::alive;
  std::span<const std::byte> body;  ///< until the buffer is used again
};
inline constexpr std::size_t frame_head_bytes = 8;

/// Takes a record's body apart. False: no correct member sends that.
[[nodiscard]] bool decode_record(std::span<const std::byte> body, FeedMessage& to);
/// Nothing: no correct member sends that.
[[nodiscard]] std::optional<FeedEnd> decode_end(std::span<const std::byte> body) noexcept;

/// Cuts what comes into frames. The memory that it takes grows with what has come of a frame, not with what its head says.
class FrameBuffer {
 public:
  /// `body_bytes_max`: the other end sends none that is larger.
  explicit FrameBuffer(std::size_t body_bytes_max) : body_bytes_max_(body_bytes_max) {}

  /// Reads once; the number of bytes that came. Frames that are complete are to be taken before. Errors: the stream's.
  [[nodiscard]] Result<std::size_t> read(fabric::tcp::ByteStream& stream);
  /// Takes the next frame; nothing: it is not complete. Errors: bad_input (what no correct process sends).
  [[nodiscard]] Result<std::optional<ObserverFrame>> next();
  /// Whether `next` would have something to say.
  [[nodiscard]] bool complete() const noexcept;

 private:
  struct Head {
    std::uint32_t kind;
    std::uint32_t bytes;
  };
  [[nodiscard]] std::optional<Head> head() const noexcept;
  [[nodiscard]] bool possible(const Head& head) const noexcept;

  std::size_t body_bytes_max_;
  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;  ///< of what was not taken
  std::size_t end_ = 0;    ///< of what came
};

/// Frames on their way out, as bytes.
class OutgoingFrames {
 public:
  void put(const ObserverPacket& packet);
  void put(const FeedMessage& message);
  void put(const FeedEnd& end);
  void put_alive();

  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size() - begin_; }
  /// Hands them to the stream, as far as it takes them; whether all have left this process. Errors: the stream's.
  [[nodiscard]] Result<bool> flush(fabric::tcp::ByteStream& stream);

 private:
  void put_head(ObserverFrame::Kind kind, std::size_t bytes);
  void put_bytes(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  std::vector<std::byte> bytes_;
  std::size_t begin_ = 0;
};

}  // namespace spindrift::group
