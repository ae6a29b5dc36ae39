// Cutting and joining.
#include <spindrift/views/parts.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::views {

std::size_t payload_bytes_max(const fabric::Fabric& fabric) noexcept {
  const std::size_t most = fabric.traits().message_bytes_max;
  return most > message_overhead_bytes ? most - message_overhead_bytes : 0;
}
namespace {

void post(fabric::Fabric& fabric, fabric::PeerId to, std::vector<std::byte> message) {
  const fabric::Operation operation{.kind = fabric::Operation::Kind::send,
                                    .copied = true,
                                    .peer = to,
                                    .local = message.data(),
                                    .bytes = message.size()};
  if (auto posted = fabric.post(std::span(&operation, 1)); !posted) {
    log::warn(log::Room::views, "could not send", {{"reason", posted.error().to_string()}});
  }
}

}  // namespace

void send_in_parts(fabric::Fabric& fabric, fabric::PeerId to, std::vector<std::byte> message) {
  const std::size_t most = fabric.traits().message_bytes_max;
  if (message.size() <= most) return post(fabric, to, std::move(message));
  const std::span<const std::byte> bytes = message;
  for (std::size_t sent = 0; sent < bytes.size();) {
    const auto piece = bytes.subspan(sent, std::min(most - message_overhead_bytes, bytes.size() - sent));
    sent += piece.size();
    post(fabric, to, encode(MessagePart{bytes.size() - sent, piece}));
  }
}

PartedMessage::State PartedMessage::add(const MessagePart& part, std::size_t most) {
  if (bytes_.size() + part.bytes.size() + part.left > most) return State::too_large;
  bytes_.insert(bytes_.end(), part.bytes.begin(), part.bytes.end());
  return part.left > 0 ? State::incomplete : State::whole;
}

std::vector<std::byte> PartedMessage::take() noexcept { return std::exchange(bytes_, {}); }

}  // namespace spindrift::views
