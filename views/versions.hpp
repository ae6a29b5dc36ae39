// The versions of the protocol: a process speaks a range of them, and a view one. So members of two releases are in one
// group while it is upgraded. Plain data. (docs/protocol.md, "Versions")
#pragma once

#include <cstdint>
#include <string>

namespace spindrift::views {

/// All from the oldest to the newest.
struct Versions {
  std::uint32_t oldest = 0;  ///< not 0, unless it is not known
  std::uint32_t newest = 0;  ///< at least the oldest

  [[nodiscard]] constexpr bool speaks(std::uint32_t version) const noexcept {
    return oldest <= version && version <= newest;
  }
  [[nodiscard]] constexpr bool meets(const Versions& other) const noexcept {
    return oldest <= other.newest && other.oldest <= newest;
  }
  bool operator==(const Versions&) const noexcept = default;
};

/// The form of the messages by which two processes learn what the other one speaks. A message says in whose form it is; one
/// that has another form in a later version is sent in that where the receiver is known to speak it.
inline constexpr std::uint32_t message_form = 17;

/// The first version whose members can revive a view.
inline constexpr std::uint32_t revivals_since = 18;
/// The first version in whose views a log that is away is taken up again by holders that come back.
inline constexpr std::uint32_t logs_return_since = 20;
/// The first version in which replicated objects know sessions of clients.
inline constexpr std::uint32_t clients_since = 21;

/// The release's own. The newest grows whenever members of two builds could misread each other's rows, rings or messages;
/// the oldest is the one before, or later: see docs/decisions/0059.
[[nodiscard]] Versions spoken_versions() noexcept;

/// For people: "version 18", "versions 17 to 18".
[[nodiscard]] std::string to_string(const Versions& versions);

}  // namespace spindrift::views
