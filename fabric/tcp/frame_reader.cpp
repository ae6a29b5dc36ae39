// Cutting a stream into frames.
#include <spindrift/fabric/tcp/frame_reader.hpp>

#include <algorithm>
#include <cstring>

#include <spindrift/core/check.hpp>

namespace spindrift::fabric::tcp {
namespace {

constexpr std::uint32_t large_frame_bytes = 16U << 10U;
constexpr std::uint64_t word_bytes = 8;

}  // namespace

// The rest is moved to the front when little space is behind it: at most the beginning of one frame.
std::span<std::byte> FrameReader::room() noexcept {
  if (begin_ == end_) begin_ = end_ = 0;
  if (buffer_bytes - end_ < buffer_bytes / 2 && begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  return {buffer_.get() + end_, buffer_bytes - end_};
}

std::optional<std::span<const std::byte>> FrameReader::take_bytes(std::size_t bytes) noexcept {
  if (here().size() < bytes) return std::nullopt;
  const auto taken = here().first(bytes);
  begin_ += bytes;
  return taken;
}

Result<std::optional<FrameReader::Piece>> FrameReader::take() {
  if (!header_) {
    const auto bytes = here();
    if (bytes.size() < frame_header_bytes) return std::optional<Piece>();
    header_ = decode_frame_header(bytes);
    if (!header_) return Error(ErrorKind::refused, "it sent what is no frame of this protocol");
    begin_ += frame_header_bytes;
    done_ = 0;
    large_frames_ = header_->bytes >= large_frame_bytes;
  }
  if (header_->kind == FramePurpose::write || header_->kind == FramePurpose::reply) return take_part(*header_);
  if (here().size() < header_->bytes) return std::optional<Piece>();
  const Piece whole{*header_, 0, here().first(header_->bytes), true};
  begin_ += header_->bytes;
  header_.reset();
  return std::optional(whole);
}

std::optional<FrameReader::Piece> FrameReader::take_part(FrameHeader& header) {
  const std::uint64_t left = header.bytes - done_;
  std::uint64_t bytes = std::min<std::uint64_t>(left, here().size());
  if (bytes < left) bytes -= std::min(bytes, (header.offset + done_ + bytes) % word_bytes);
  if (bytes == 0) return std::nullopt;
  const Piece piece{header, done_, here().first(bytes), bytes == left};
  begin_ += bytes;
  done_ += bytes;
  if (piece.last) header_.reset();
  return piece;
}

std::optional<FrameReader::Rest> FrameReader::rest() const noexcept {
  const bool open = header_ && (header_->kind == FramePurpose::write || header_->kind == FramePurpose::reply);
  const std::uint64_t begun = here().size();
  if (!open || begun >= word_bytes) return std::nullopt;
  const std::uint64_t gap = begun == 0 ? 0 : word_bytes - (header_->offset + done_ + begun) % word_bytes;
  if (done_ + begun + gap >= header_->bytes) return std::nullopt;
  return Rest{*header_, gap, done_ + begun + gap, begun + gap};
}

void FrameReader::landed(std::size_t bytes) noexcept {
  CHECK(header_ && bytes <= header_->bytes - done_);
  done_ += bytes;
  if (done_ == header_->bytes) header_.reset();
}

}  // namespace spindrift::fabric::tcp
