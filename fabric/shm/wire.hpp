// The frames that two processes exchange over their socket: one per packet, each of a fixed head and, for messages, the
// caller's bytes. Every frame is parsed here and nowhere else; a parser returns nothing for anything malformed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <sys/types.h>

#include <spindrift/core/ids.hpp>
#include <spindrift/fabric/fabric.hpp>
#include <spindrift/fabric/shm/packet.hpp>

namespace spindrift::fabric::shm {

/// Changes with any change of the frames, the bell page or the meaning of a region.
inline constexpr std::uint32_t wire_version = 2;
inline constexpr std::size_t message_bytes_max = 65536;

enum class FrameKind : std::uint32_t {
  hello = 1,        ///< GreetingFrame of who connected, with its bell's descriptor
  welcome = 2,      ///< GreetingFrame of who accepted, with its bell's descriptor: the link is up
  turned_away = 3,  ///< TurnedAway instead of welcome; the connection closes
  message = 4,      ///< head, then the bytes of one send
  expose = 5,       ///< ExposureFrame, with the region's descriptor
  goodbye = 6,      ///< Goodbye: the peer closes on purpose
  doorbell = 7,     ///< with the descriptor of the sender's doorbell; only to who takes it, as its bell says
  doorbell_taken = 8,  ///< from now on the sender rings the receiver's doorbell
};

struct FrameHead {
  std::uint32_t kind;
  std::uint32_t detail;  ///< turned_away: a TurnedAway; goodbye: a Goodbye; greetings: wire_version; else 0
};

struct GreetingFrame {
  FrameHead head;
  std::uint64_t magic;
  std::uint64_t incarnation;  ///< random per endpoint; tells a restarted process from its predecessor
  std::uint32_t node;
  std::uint32_t pid;
};
static_assert(sizeof(GreetingFrame) == 32);

struct ExposureFrame {
  FrameHead head;
  std::uint64_t region;
  std::uint64_t bytes;
  std::uint32_t access;  ///< 0 read, 1 write
  std::uint32_t reserved;
};
static_assert(sizeof(ExposureFrame) == 32);

enum class TurnedAway : std::uint32_t {
  crossed = 1,    ///< both called at once; the call of the other side counts
  known = 2,      ///< this incarnation is linked already
  full = 3,       ///< no place for another peer
  version = 4,    ///< another wire_version
  elsewhere = 5,  ///< the caller's node is to be reached in another way than over shm
};

enum class Goodbye : std::uint32_t {
  closed = 1,    ///< disconnect, or the end of the endpoint
  rejected = 2,  ///< the other side sent something impossible
  stuck = 3,     ///< the other side did not take its messages
  starved = 4,   ///< this side lacks descriptors or memory, and ends
};

/// The largest packet that a correct peer sends.
inline constexpr std::size_t frame_bytes_max = sizeof(FrameHead) + message_bytes_max;

/// The buffer of a receiver that takes any frame: one that is too long shows.
using PacketBuffer = std::array<std::byte, frame_bytes_max + 1>;

/// The head of a frame about which there is that to say.
template <class Detail = std::uint32_t>
[[nodiscard]] FrameHead head_of(FrameKind kind, Detail detail = {}) noexcept {
  return {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(detail)};
}
[[nodiscard]] GreetingFrame make_greeting(FrameKind kind, NodeId self, pid_t pid, std::uint64_t incarnation) noexcept;

/// The kind of a frame, if it is one of the above and has a head at all.
[[nodiscard]] std::optional<FrameHead> parse_head(std::span<const std::byte> bytes) noexcept;
/// Checks size and magic; the version and the identity are the caller's to judge.
[[nodiscard]] std::optional<GreetingFrame> parse_greeting(std::span<const std::byte> bytes) noexcept;

struct ParsedExposure {
  RegionKey region;
  std::uint64_t bytes;
  Access access;
};
[[nodiscard]] ExposureFrame make_exposure(const ParsedExposure& exposure) noexcept;
[[nodiscard]] std::optional<ParsedExposure> parse_exposure(std::span<const std::byte> bytes) noexcept;

}  // namespace spindrift::fabric::shm
