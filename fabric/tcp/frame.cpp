// Encoding and checking of frames' headers.
#include <spindrift/fabric/tcp/frame.hpp>

#include <spindrift/core/bytes.hpp>
#include <spindrift/fabric/connected/wire.hpp>

namespace spindrift::fabric::tcp {
namespace {

constexpr std::size_t message_frame_max = connected::header_bytes + connected::message_bytes_max;

/// The first word of a header: the kind, a mark that no other protocol begins with, and the length.
constexpr std::uint32_t mark = 0x46'64'53;  // "SdF"

}  // namespace

FrameHeaderBytes encode(const FrameHeader& header) noexcept {
  return field_bytes(mark << 8U | static_cast<std::uint32_t>(header.kind), header.bytes, header.key, header.offset);
}

std::optional<FrameHeader> decode_frame_header(std::span<const std::byte> bytes) noexcept {
  ByteReader reader(bytes);
  const auto first = reader.get<std::uint32_t>();
  FrameHeader header;
  header.bytes = reader.get<std::uint32_t>();
  header.key = reader.get<std::uint64_t>();
  header.offset = reader.get<std::uint64_t>();
  if (!reader.ok() || first >> 8U != mark) return std::nullopt;
  header.kind = static_cast<FramePurpose>(first & 0xffU);
  switch (header.kind) {
    case FramePurpose::write:
    case FramePurpose::reply:
      if (header.bytes == 0 || header.bytes > frame_bytes_max) return std::nullopt;
      return header;
    case FramePurpose::message:
      if (header.bytes > message_frame_max || header.key != 0 || header.offset != 0) return std::nullopt;
      return header;
    case FramePurpose::read:
      if (header.bytes != read_request_bytes) return std::nullopt;
      return header;
  }
  return std::nullopt;
}

std::array<std::byte, read_request_bytes> encode(const ReadRequest& request) noexcept {
  return field_bytes(request.token, request.bytes);
}

std::optional<ReadRequest> decode_read_request(std::span<const std::byte> bytes) noexcept {
  ByteReader reader(bytes);
  const ReadRequest request{reader.get<std::uint64_t>(), reader.get<std::uint64_t>()};
  return reader.complete() ? std::optional(request) : std::nullopt;
}

}  // namespace spindrift::fabric::tcp
