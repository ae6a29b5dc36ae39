// The packets' one codec.
#include <spindrift/group/observer_calls.hpp>

#include <spindrift/core/bytes.hpp>

namespace spindrift::group {
namespace {

constexpr std::uint32_t magic = 0x626f'7073;  // "spob"
constexpr std::uint32_t version = 1;

struct CallHead {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint32_t call;
  std::uint32_t mode;
  std::uint64_t number;
  std::uint64_t position;
  std::uint64_t delivered;
  std::uint64_t last_view;
  std::uint64_t last_sequence;
};

}  // namespace

std::vector<std::byte> encode(const ObserverPacket& packet) {
  const CallHead head{magic, version, static_cast<std::uint32_t>(packet.call), static_cast<std::uint32_t>(packet.mode),
                  packet.number, packet.position, packet.delivered,
                      packet.last.view.value(), packet.last.sequence.value()};
  return ByteWriter().put(head).put_text(packet.text, observer_text_bytes_max).take();
}

std::optional<ObserverPacket> decode_observer_packet(std::span<const std::byte> bytes) {
  const auto head = field_at_front<CallHead>(bytes);
  if (!head || head->magic != magic || head->version != version || bytes.size() > sizeof *head + observer_text_bytes_max ||
      head->call < static_cast<std::uint32_t>(ObserverCall::hello) ||
      head->call > static_cast<std::uint32_t>(ObserverCall::reading) ||
      head->mode > static_cast<std::uint32_t>(DeliveryMode::unordered)) {
    return std::nullopt;
  }
  const auto text = bytes.subspan(sizeof *head);
  return ObserverPacket{static_cast<ObserverCall>(head->call), head->number, static_cast<DeliveryMode>(head->mode),
                        std::string(reinterpret_cast<const char*>(text.data()), text.size()), head->position,
                        head->delivered, {ViewId(head->last_view), SequenceNumber(head->last_sequence)}};
}

bool is_other_version(std::span<const std::byte> bytes) noexcept {
  const auto head = field_at_front<CallHead>(bytes);
  return head && head->magic == magic && head->version != version;
}

}  // namespace spindrift::group
