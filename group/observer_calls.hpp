// The packets that an observer and the member that feeds it send to each other, over a socket of the group's directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/group/observation.hpp>

namespace spindrift::group {

/// The name of a subgroup, or a text for people.
inline constexpr std::size_t observer_text_bytes_max = 1024;
inline constexpr std::size_t observer_packet_bytes_max = 2048;

enum class ObserverCall : std::uint32_t {
  hello = 1,        ///< observer: the subgroup's name
  welcome = 2,      ///< member: the feed, whose descriptor goes along
  standing_by = 3,  ///< member: why there is no feed yet; a welcome may follow
  refused = 4,      ///< member: why there will be none, and it closes
  await = 5,        ///< observer: tell me once there is more than this
  woken = 6,        ///< member: it is, or messages were left out
  ended = 7,        ///< member: why nothing follows, and it closes
  reading = 8,      ///< observer: I am that far
};

/// Why a member does not feed an observer.
enum class ObserverRefusal : std::uint32_t {
  unknown_subgroup = 1,
  full = 2,  ///< it has as many observers as it may, or lacks memory or descriptors
  version = 3,
  not_admitted = 4,  ///< over the network: the caller's key is none of an observer
};

struct ObserverPacket {
  ObserverCall call{};
  /// hello: 0, or 1 + the node that feeds it: it asks for a feed once that one is not in the subgroup any more; welcome:
  /// bytes of the feed, or over the network FeedOrigin::life; await, reading: the position; refused: an ObserverRefusal
  std::uint64_t number = 0;
  DeliveryMode mode = DeliveryMode::ordered;  ///< welcome
  std::string text{};                         ///< hello, standing_by, refused, ended
  std::uint64_t position = 0;   ///< welcome: where in the feed it begins for this observer; hello over the network: 1, to
                                ///< begin with what was delivered a while before
  std::uint64_t delivered = 0;  ///< welcome: this many messages were delivered before; await: as known; hello over the
                                ///< network: 1 with a `last`
  MessagePlace last{};          ///< welcome: the last of these; hello: nothing up to there is wanted
};

[[nodiscard]] std::vector<std::byte> encode(const ObserverPacket& packet);
/// Checks every field. Nothing: no correct peer sends that.
[[nodiscard]] std::optional<ObserverPacket> decode_observer_packet(std::span<const std::byte> bytes);
/// Whether bytes that cannot be decoded are a hello of another version.
[[nodiscard]] bool is_other_version(std::span<const std::byte> bytes) noexcept;

}  // namespace spindrift::group
