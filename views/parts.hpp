// Messages larger than the fabric's largest: sent in parts, and put together again.
#pragma once

#include <cstddef>
#include <vector>

#include <spindrift/fabric/fabric.hpp>
#include <spindrift/views/messages.hpp>

namespace spindrift::views {

/// Before its hello somebody may say so much in parts: a refusal.
inline constexpr std::size_t stranger_message_bytes_max = 1024;

/// A private message, or a piece of a state, has so much room in one message of this fabric.
[[nodiscard]] std::size_t payload_bytes_max(const fabric::Fabric& fabric) noexcept;

/// Posts the message, in parts if need be. What cannot be posted is logged: its connection is about to end.
void send_in_parts(fabric::Fabric& fabric, fabric::PeerId to, std::vector<std::byte> message);

/// The parts of one message that have come so far.
class PartedMessage {
 public:
  enum class State : std::uint8_t { incomplete, whole, too_large };
  /// `most`: bytes of the whole message.
  [[nodiscard]] State add(const MessagePart& part, std::size_t most);
  /// The whole message; the next one begins.
  [[nodiscard]] std::vector<std::byte> take() noexcept;

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace spindrift::views
