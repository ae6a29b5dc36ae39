// The stream of a TCP connection of the fabric: a greeting each way, then frames, each a header and the bytes that it
// announces. A header is validated on the one read; whether a peer has the right that a frame claims is for the connection
// to say.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace spindrift::fabric::tcp {

enum class FramePurpose : std::uint8_t {
  write = 1,  ///< the bytes go to `offset` of the receiver's region `key`
  message,    ///< one message of the protocol of connections; `key` and `offset` are 0
  read,       ///< asks for a range from `offset` of the receiver's region `key`: the bytes are a ReadRequest
  reply,      ///< the next bytes of what the read `key` asked for, from its byte `offset` on
};

struct FrameHeader {
  FramePurpose kind = FramePurpose::message;
  std::uint32_t bytes = 0;  ///< that follow
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
};
inline constexpr std::size_t frame_header_bytes = 24;
/// The size of one frame; longer payloads travel in several.
inline constexpr std::uint32_t frame_bytes_max = 16U << 20U;

using FrameHeaderBytes = std::array<std::byte, frame_header_bytes>;
[[nodiscard]] FrameHeaderBytes encode(const FrameHeader& header) noexcept;
/// `bytes`: at least a header's. Nothing: no header of this protocol, or one that announces more than its kind may have.
[[nodiscard]] std::optional<FrameHeader> decode_frame_header(std::span<const std::byte> bytes) noexcept;

struct ReadRequest {
  std::uint64_t token = 0;  ///< the reader's name for it
  std::uint64_t bytes = 0;
};
inline constexpr std::size_t read_request_bytes = 16;
[[nodiscard]] std::array<std::byte, read_request_bytes> encode(const ReadRequest& request) noexcept;
/// Nothing: not of that length.
[[nodiscard]] std::optional<ReadRequest> decode_read_request(std::span<const std::byte> bytes) noexcept;

}  // namespace spindrift::fabric::tcp
