// The first words between two members, before any memory is exposed: who I am and what I take for agreed. Fixed size,
// little-endian, validated field by field; a difference is answered by a refusal that names it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>

namespace spindrift::views {

/// Changes whenever members of two builds could misread each other's rows, rings or hellos.
inline constexpr std::uint32_t protocol_version = 1;

/// What all members of a group must have in common.
struct GroupIdentity {
  std::string group_name;
  std::array<std::uint64_t, 2> config_digest{};  ///< of everything group-wide in the config
};

struct Hello {
  NodeId node;
  std::uint64_t incarnation = 0;
};

/// One message of the handshake as it came from a peer; exactly one member is set.
struct Greeting {
  std::optional<Hello> hello;          ///< the peer agrees with us
  std::optional<Error> mismatch;       ///< it does not: what differs, for both sides
  std::optional<std::string> refusal;  ///< it refuses us, with its reason
  std::optional<std::string> stop;     ///< it stopped the group, with its reason
};

[[nodiscard]] std::vector<std::byte> encode_hello(const GroupIdentity& identity, const Hello& hello);
/// Reasons are cut at 512 bytes.
[[nodiscard]] std::vector<std::byte> encode_refusal(std::string_view reason);
[[nodiscard]] std::vector<std::byte> encode_stop(std::string_view reason);
/// Checks every byte. Nothing: not a message of this protocol at all.
[[nodiscard]] std::optional<Greeting> decode_greeting(std::span<const std::byte> bytes, const GroupIdentity& ours);

}  // namespace spindrift::views
