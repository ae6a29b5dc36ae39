// Gathers packets, and sends them in one call.
#include <spindrift/rpc/send_burst.hpp>

#include <cstring>

#include <spindrift/core/check.hpp>

namespace spindrift::rpc {

SendBurst::SendBurst(PacketTransport& transport, std::size_t packets_max)
    : transport_(transport), packets_(packets_max), copies_(packets_max) {}

std::uint64_t SendBurst::add(const PacketRoute& to, const PacketHeader& header, MessageBuffer& message,
                             std::uint32_t piece) {
  const auto bytes = encode(header);
  const auto place = message.header(piece);
  std::memcpy(place.data(), bytes.data(), bytes.size());
  packets_[count_] = {to, place, message.piece(piece)};
  const std::uint64_t burst = burst_;
  if (++count_ == packets_.size()) flush();
  return burst;
}

void SendBurst::add_copied(const PacketRoute& to, const PacketHeader& header, std::span<const std::byte> payload) {
  CHECK(payload.size() <= copied_payload_most);
  auto& copy = copies_[count_];
  const auto bytes = encode(header);
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  if (!payload.empty()) std::memcpy(copy.data() + header_bytes, payload.data(), payload.size());
  packets_[count_] = {to, std::span(copy).first(header_bytes), std::span(copy).subspan(header_bytes, payload.size())};
  if (++count_ == packets_.size()) flush();
}

void SendBurst::flush() {
  if (count_ == 0) return;
  packets_sent_ += count_;
  transport_.send(std::span(packets_).first(count_));
  count_ = 0;
  ++burst_;
}

}  // namespace spindrift::rpc
