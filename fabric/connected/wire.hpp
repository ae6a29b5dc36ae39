// The words that two endpoints exchange beside the application's bytes: greetings, and control messages. Little-endian,
// validated on the one read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/core/ids.hpp>

namespace spindrift::fabric::connected {

inline constexpr std::size_t message_bytes_max = 65536;
inline constexpr std::size_t header_bytes = 8;
inline constexpr std::size_t regions_per_peer_max = 1024;
inline constexpr std::size_t revoked_bytes_max = std::size_t{4} << 20U;  // no file of lists is larger

/// Travels with a connection request, and back with its acceptance.
struct Greeting {
  NodeId node;
  std::uint64_t incarnation = 0;  ///< random, of the endpoint; not 0
  std::uint64_t attempt = 0;      ///< the number of the last attempt that the sender made to the receiver's node
  std::uint64_t word = 0;         ///< random, for this call alone; not 0
  std::uint64_t proof = 0;        ///< the word that the receiver said last to the sender's node; 0: none was heard
};
using GreetingBytes = std::array<std::byte, 48>;
[[nodiscard]] GreetingBytes encode(const Greeting& greeting) noexcept;
[[nodiscard]] std::optional<Greeting> decode_greeting(std::span<const std::byte> bytes) noexcept;
/// The greeting of a process that is no node, and only wants to observe.
[[nodiscard]] GreetingBytes observer_greeting() noexcept;
/// The greeting of a process that wants to call the functions of the other end, by packets of calls.
[[nodiscard]] GreetingBytes client_greeting() noexcept;
/// The greeting of a process that only asks for what the other end tells of its group.
[[nodiscard]] GreetingBytes discovery_greeting() noexcept;

enum class Kind : std::uint64_t {
  user = 1,  ///< the rest is the application's
  exposed,   ///< Exposure
  unmapped,  ///< the region's remote key: the peer will not use it any more
  goodbye,   ///< the peer closes the connection
  alive,     ///< nothing to say
  writes,    ///< small writes that travel together: SmallWrite and its bytes, again and again, in the order of posting
  sealed,    ///< records of TLS, see ControlSession
  revoked,   ///< a part of lists of revoked certificates: how many bytes of them follow in further messages, and its own
};

/// A region that the sender lets the receiver use.
struct Exposure {
  RegionKey region;
  std::uint64_t remote_key = 0;
  std::uint64_t address = 0;  ///< of its first byte, as the provider wants it in operations
  std::uint64_t bytes = 0;
  Access access = Access::read;
};
inline constexpr std::size_t exposure_bytes = 40;

struct Control {
  Kind kind = Kind::alive;
  std::span<const std::byte> payload;  ///< user, writes, sealed, revoked
  Exposure exposure;                   ///< exposed
  std::uint64_t remote_key = 0;        ///< unmapped
  std::uint64_t rest = 0;              ///< revoked
};

/// One of several writes in a message.
struct SmallWrite {
  std::uint64_t remote_key = 0;
  std::uint64_t address = 0;  ///< as the exposure's, plus the offset
  std::span<const std::byte> bytes;
};
inline constexpr std::size_t small_write_bytes_max = 256;
inline constexpr std::size_t writes_bytes_max = 4096;
/// Adds one to a message, which begins with a header for an empty one. False: no space.
[[nodiscard]] bool append(std::vector<std::byte>& message, const SmallWrite& write);
/// Takes the first off. Nothing: broken.
[[nodiscard]] std::optional<SmallWrite> take_write(std::span<const std::byte>& writes) noexcept;

/// `message` begins with the header. Nothing: not a message of this protocol.
[[nodiscard]] std::optional<Control> decode_control(std::span<const std::byte> message) noexcept;
/// A message of the application's, with the header.
[[nodiscard]] std::vector<std::byte> user_message(std::span<const std::byte> payload);
/// Records, with the header.
[[nodiscard]] std::vector<std::byte> sealed_message(std::span<const std::byte> records);
/// Lists of revoked certificates, in as many messages as it takes, each with its header. `lists`: at most
/// `revoked_bytes_max`.
[[nodiscard]] std::vector<std::vector<std::byte>> revoked_messages(std::span<const std::byte> lists);
using ExposureBytes = std::array<std::byte, header_bytes + exposure_bytes>;
[[nodiscard]] ExposureBytes encode(const Exposure& exposure) noexcept;
/// A header, and one word behind it.
using WordBytes = std::array<std::byte, header_bytes + 8>;
[[nodiscard]] WordBytes encode(Kind kind, std::uint64_t word) noexcept;

}  // namespace spindrift::fabric::connected
