// How much of what a subgroup has delivered each of its members keeps for members that come later: in memory, or of its log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <spindrift/core/profile.hpp>

namespace spindrift {

/// The bounds of a subgroup's history: the last messages, as far as each bound that is given allows. Equal at all members.
/// 0: there is no such bound. Without any nothing is kept in memory, and all in a log; a log keeps some more than its bounds
/// say, for it is trimmed by whole segments.
struct HistoryBounds {
  std::uint64_t messages = 0;  ///< most of them; up to history_messages_most
  std::uint64_t bytes = 0;     ///< most of them all, each as bytes_of counts it; up to history_bytes_most
  std::uint64_t age_ms = 0;    ///< longest since a member has delivered it, by its own clock; up to history_age_ms_most

  [[nodiscard]] constexpr bool any() const noexcept { return messages != 0 || bytes != 0 || age_ms != 0; }
  /// Age alone bounds no memory.
  [[nodiscard]] constexpr bool by_age_alone() const noexcept { return age_ms != 0 && messages == 0 && bytes == 0; }
  /// The same, with history_bytes_usual where age is the only bound.
  [[nodiscard]] constexpr HistoryBounds completed() const noexcept;
  /// The same of a history in memory; of a log they are as they are.
  [[nodiscard]] constexpr HistoryBounds completed(SubgroupStorage storage) const noexcept {
    return storage == SubgroupStorage::logged ? *this : completed();
  }
  /// The memory that a message takes: its payload in whole words of 8 bytes, and history_head_bytes.
  [[nodiscard]] static constexpr std::uint64_t bytes_of(std::uint64_t payload_bytes) noexcept;
  /// The most memory that a member has for the history, of messages of at most that size: what the bounds allow, and
  /// history_spare_bytes with one message more, as memory is taken in pieces.
  [[nodiscard]] std::uint64_t memory_most(std::uint64_t message_bytes_max) const noexcept;

  bool operator==(const HistoryBounds&) const noexcept = default;
};

inline constexpr std::uint64_t history_messages_most = std::uint64_t{1} << 32;
inline constexpr std::uint64_t history_bytes_most = std::uint64_t{1} << 36;
inline constexpr std::uint64_t history_age_ms_most = std::uint64_t{365} * 24 * 3600 * 1000;
inline constexpr std::uint64_t history_bytes_usual = std::uint64_t{64} << 20;
inline constexpr std::uint64_t history_head_bytes = 48;
/// A piece of memory for messages; one that is larger has a piece of its own.
inline constexpr std::uint64_t history_piece_bytes = std::uint64_t{64} << 10;
inline constexpr std::uint64_t history_spare_bytes = 2 * history_piece_bytes;

constexpr HistoryBounds HistoryBounds::completed() const noexcept {
  return by_age_alone() ? HistoryBounds{messages, history_bytes_usual, age_ms} : *this;
}

constexpr std::uint64_t HistoryBounds::bytes_of(std::uint64_t payload_bytes) noexcept {
  return (payload_bytes + 7) / 8 * 8 + history_head_bytes;
}

/// A reason why a subgroup can have no such history, in words for people: "it keeps a history, and …".
struct HistoryFault {
  std::string what;
  std::string fix;
};

/// Nothing: it can. `bounds` are completed. Any thread.
[[nodiscard]] std::optional<HistoryFault> fault_of(const HistoryBounds& bounds, DeliveryMode mode, SubgroupStorage storage,
                                                   std::uint64_t message_bytes_max);

}  // namespace spindrift
