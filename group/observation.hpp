// The places of messages in a subgroup, and the gaps in what an observer gets of them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include <spindrift/core/ids.hpp>
#include <spindrift/smc/delivery.hpp>

namespace spindrift {

/// The place of a message in an ordered subgroup, the same at all members. In an unordered one all of a view have the same.
struct MessagePlace {
  ViewId view{};
  SequenceNumber sequence{};  ///< unordered mode: 0
  constexpr auto operator<=>(const MessagePlace&) const noexcept = default;
  /// The place of a delivered message.
  [[nodiscard]] static constexpr MessagePlace of(const Delivery& delivery) noexcept {
    return {delivery.view, delivery.sequence};
  }
};

/// Messages of a subgroup that an observer has missed: those behind `after`, up to `last` and with it.
struct Gap {
  std::optional<MessagePlace> after;      ///< the last one that the observer got; nothing: it had got none
  std::optional<MessagePlace> last;       ///< nothing: not known, in an unordered subgroup whose feeding member changed
  std::optional<std::uint64_t> messages;  ///< how many; nothing: not known, when the feeding member changed meanwhile
  bool operator==(const Gap&) const = default;
};

}  // namespace spindrift
