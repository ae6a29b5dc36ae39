// Cutting frames, and putting them together.
#include <spindrift/group/observer_frames.hpp>

#include <algorithm>
#include <cstring>

#include <spindrift/core/bytes.hpp>

namespace spindrift::group {
namespace {

constexpr std::size_t read_bytes = std::size_t{64} << 10U;
/// A buffer that a large message has made larger than this gives it back.
constexpr std::size_t kept_bytes = std::size_t{1} << 20U;

struct WireEnd {
  std::uint64_t delivered;
  std::uint64_t view;
  std::uint64_t sequence;
};
static_assert(WireField<FeedRecord>);
static_assert(WireField<WireEnd>);

}  // namespace

bool decode_record(std::span<const std::byte> body, FeedMessage& to) {
  const auto record = field_at_front<FeedRecord>(body);
  if (!record || record->omitted > 1) return false;
  const auto payload = body.subspan(sizeof *record);
  if (payload.size() != (record->omitted == 0 ? record->payload_bytes : 0)) return false;
  to.record = *record;
  to.payload.assign(payload.begin(), payload.end());
  return true;
}

std::optional<FeedEnd> decode_end(std::span<const std::byte> body) noexcept {
  ByteReader reader(body);
  const auto end = reader.get<WireEnd>();
  if (!reader.complete()) return std::nullopt;
  return FeedEnd{end.delivered, {ViewId(end.view), SequenceNumber(end.sequence)}};
}

Result<std::size_t> FrameBuffer::read(fabric::tcp::ByteStream& stream) {
  if (begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == 0 && bytes_.size() > kept_bytes) bytes_ = {};
  if (bytes_.size() - end_ < std::min(read_bytes, body_bytes_max_)) {
    const std::size_t most = body_bytes_max_ + frame_head_bytes + read_bytes;
    bytes_.resize(std::min(most, std::max(2 * end_, end_ + std::min(read_bytes, body_bytes_max_))));
  }
  const iovec space{bytes_.data() + end_, bytes_.size() - end_};
  SPINDRIFT_TRY_ASSIGN(const std::size_t came, stream.read({&space, 1}));
  end_ += came;
  return came;
}

std::optional<FrameBuffer::Head> FrameBuffer::head() const noexcept {
  return field_at_front<Head>(std::span(bytes_).subspan(begin_, end_ - begin_));
}

bool FrameBuffer::possible(const Head& head) const noexcept {
  return head.kind >= static_cast<std::uint32_t>(ObserverFrame::Kind::packet) &&
         head.kind <= static_cast<std::uint32_t>(ObserverFrame::Kind::alive) && head.bytes <= body_bytes_max_;
}

bool FrameBuffer::complete() const noexcept {
  const auto next = head();
  return next && (!possible(*next) || end_ - begin_ - frame_head_bytes >= next->bytes);
}

Result<std::optional<ObserverFrame>> FrameBuffer::next() {
  const auto next = head();
  if (!next) return std::optional<ObserverFrame>();
  if (!possible(*next)) return Error(ErrorKind::bad_input, "a frame that neither observers nor members send");
  if (end_ - begin_ - frame_head_bytes < next->bytes) return std::optional<ObserverFrame>();
  const std::span<const std::byte> body = std::span(bytes_).subspan(begin_ + frame_head_bytes, next->bytes);
  begin_ += frame_head_bytes + next->bytes;
  return std::optional(ObserverFrame{static_cast<ObserverFrame::Kind>(next->kind), body});
}

void OutgoingFrames::put_head(ObserverFrame::Kind kind, std::size_t bytes) {
  put_bytes(field_bytes(static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(bytes)));
}

void OutgoingFrames::put(const ObserverPacket& packet) {
  const auto bytes = encode(packet);
  put_head(ObserverFrame::Kind::packet, bytes.size());
  put_bytes(bytes);
}

void OutgoingFrames::put(const FeedMessage& message) {
  put_head(ObserverFrame::Kind::record, sizeof message.record + message.payload.size());
  put_bytes(field_bytes(message.record));
  put_bytes(message.payload);
}

void OutgoingFrames::put(const FeedEnd& end) {
  put_head(ObserverFrame::Kind::end, sizeof(WireEnd));
  put_bytes(field_bytes(WireEnd{end.delivered, end.last.view.value(), end.last.sequence.value()}));
}

void OutgoingFrames::put_alive() { put_head(ObserverFrame::Kind::alive, 0); }

Result<bool> OutgoingFrames::flush(fabric::tcp::ByteStream& stream) {
  while (bytes() > 0) {
    const iovec rest{bytes_.data() + begin_, bytes()};
    SPINDRIFT_TRY_ASSIGN(const std::size_t taken, stream.write({&rest, 1}));
    if (taken == 0) break;
    begin_ += taken;
  }
  if (bytes() > 0) {
    static_cast<void>(stream.flush());
    return false;
  }
  if (bytes_.capacity() > kept_bytes) bytes_ = {};
  bytes_.clear();
  begin_ = 0;
  return stream.flush();
}

}  // namespace spindrift::group
