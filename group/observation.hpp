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
  /// The last one that the observer got, or behind which it began; nothing: it began before the first.
  std::optional<MessagePlace> after;
  /// Nothing: not known, where another member feeds the observer now, in an unordered subgroup or one that had delivered
  /// nothing before.
  std::optional<MessagePlace> last;
  std::optional<std::uint64_t> messages;  ///< how many; nothing: not known, when the feeding member changed meanwhile
  bool operator==(const Gap&) const = default;
};

}  // namespace spindrift
