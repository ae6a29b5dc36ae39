// The parsers of frames, and what makes them.
#include <spindrift/fabric/shm/wire.hpp>

#include <limits>

#include <spindrift/core/bytes.hpp>

namespace spindrift::fabric::shm {
namespace {

constexpr std::uint64_t magic = 0x3166'7264'6e69'7073;  // "spindrf1"

template <WireField Frame>
std::optional<Frame> read_frame(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() != sizeof(Frame)) return std::nullopt;
  return field_at_front<Frame>(bytes);
}

}  // namespace

GreetingFrame make_greeting(FrameKind kind, NodeId self, pid_t pid, std::uint64_t incarnation) noexcept {
  return {head_of(kind, wire_version), magic, incarnation, self.value(), static_cast<std::uint32_t>(pid)};
}

std::optional<FrameHead> parse_head(std::span<const std::byte> bytes) noexcept {
  const auto head = field_at_front<FrameHead>(bytes);
  const bool known = head && head->kind >= static_cast<std::uint32_t>(FrameKind::hello) &&
                     head->kind <= static_cast<std::uint32_t>(FrameKind::doorbell_taken);
  return known && bytes.size() <= frame_bytes_max ? head : std::nullopt;
}

std::optional<GreetingFrame> parse_greeting(std::span<const std::byte> bytes) noexcept {
  auto greeting = read_frame<GreetingFrame>(bytes);
  if (greeting && greeting->magic != magic) greeting.reset();
  return greeting;
}

ExposureFrame make_exposure(const ParsedExposure& exposure) noexcept {
  return {head_of(FrameKind::expose), exposure.region.value(), exposure.bytes, exposure.access == Access::read ? 0U : 1U, 0};
}

std::optional<ParsedExposure> parse_exposure(std::span<const std::byte> bytes) noexcept {
  const auto frame = read_frame<ExposureFrame>(bytes);
  if (!frame || frame->head.detail != 0 || frame->reserved != 0 || frame->access > 1 || frame->bytes == 0 ||
      frame->bytes > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max())) {
    return std::nullopt;
  }
  return ParsedExposure{RegionKey(frame->region), frame->bytes, frame->access == 0 ? Access::read : Access::write};
}

}  // namespace spindrift::fabric::shm
