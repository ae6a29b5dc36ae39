// Frames between members and observers of other hosts: however they are cut on their way, the same come out.
#include <spindrift/group/observer_frames.hpp>

#include <algorithm>
#include <cstring>
#include <deque>

#include <catch2/catch.hpp>

using namespace spindrift;
using namespace spindrift::group;
using Kind = ObserverFrame::Kind;

namespace {

/// Bytes on their way, of which at most so many pass at a time.
class Pipe final : public fabric::tcp::UnprovenStream {
 public:
  explicit Pipe(std::size_t at_once) : at_once_(at_once) {}

  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> to) override {
    largest_room_ = std::max(largest_room_, to[0].iov_len);
    const std::size_t count = std::min({to[0].iov_len, at_once_, bytes_.size()});
    std::copy_n(bytes_.begin(), count, static_cast<std::byte*>(to[0].iov_base));
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }
  [[nodiscard]] std::size_t known() const noexcept override { return bytes_.size(); }
  [[nodiscard]] bool holds_bytes() const noexcept override { return !bytes_.empty(); }
  [[nodiscard]] Result<std::size_t> write(std::span<const iovec> from) override {
    const std::size_t count = takes_ ? std::min(from[0].iov_len, at_once_) : 0;
    const auto* const begin = static_cast<const std::byte*>(from[0].iov_base);
    bytes_.insert(bytes_.end(), begin, begin + count);
    return count;
  }
  [[nodiscard]] Result<bool> flush() override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }

  void come(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void take(bool takes) noexcept { takes_ = takes; }
  [[nodiscard]] std::size_t largest_room() const noexcept { return largest_room_; }

 private:
  const std::size_t at_once_;
  std::deque<std::byte> bytes_;
  bool takes_ = true;
  std::size_t largest_room_ = 0;
};

std::optional<ObserverFrame> next_of(FrameBuffer& buffer, Pipe& pipe) {
  while (true) {
    if (const auto frame = value_or_throw(buffer.next())) return frame;
    if (value_or_throw(buffer.read(pipe)) == 0) return std::nullopt;
  }
}

std::vector<std::byte> head(std::uint32_t kind, std::uint32_t bytes) {
  std::vector<std::byte> head(frame_head_bytes);
  std::memcpy(head.data(), &kind, sizeof kind);
  std::memcpy(head.data() + sizeof kind, &bytes, sizeof bytes);
  return head;
}

}  // namespace

TEST_CASE("frames come out as they were put in, however they were cut") {
  const std::size_t at_once = GENERATE(std::size_t{1}, std::size_t{7}, std::size_t{100}, std::size_t{100'000});
  Pipe pipe(at_once);
  OutgoingFrames out;
  FeedMessage message;
  message.record.sequence = 17;
  message.record.number = 4;
  message.payload.assign(3000, std::byte{5});
  message.record.payload_bytes = message.payload.size();
  FeedMessage omitted;
  omitted.record.payload_bytes = 1U << 30U;
  omitted.record.omitted = 1;
  out.put(ObserverPacket{ObserverCall::standing_by, 0, {}, "why"});
  out.put(message);
  out.put_alive();
  out.put(omitted);
  out.put(FeedEnd{9, {ViewId(2), SequenceNumber(3)}});
  CHECK(value_or_throw(out.flush(pipe)));
  CHECK(out.bytes() == 0);

  FrameBuffer buffer(feed_record_bytes_max);
  const auto packet = next_of(buffer, pipe);
  REQUIRE((packet && packet->kind == Kind::packet));
  CHECK(decode_observer_packet(packet->body).value().text == "why");
  FeedMessage got;
  const auto record = next_of(buffer, pipe);
  REQUIRE((record && record->kind == Kind::record && decode_record(record->body, got)));
  CHECK(got.record.place() == message.record.place());
  CHECK(got.payload == message.payload);
  const auto alive = next_of(buffer, pipe);
  REQUIRE((alive && alive->kind == Kind::alive));
  const auto left_out = next_of(buffer, pipe);
  REQUIRE((left_out && decode_record(left_out->body, got)));
  CHECK(got.record.omitted == 1);
  CHECK(got.payload.empty());
  const auto end = next_of(buffer, pipe);
  REQUIRE((end && end->kind == Kind::end));
  CHECK(decode_end(end->body).value().delivered == 9);
  CHECK(decode_end(end->body).value().last == MessagePlace{ViewId(2), SequenceNumber(3)});
  CHECK_FALSE(next_of(buffer, pipe));
}

TEST_CASE("a frame that nobody sends is bad input as soon as its head is there, and takes no memory") {
  for (const auto& bytes : {head(0, 0), head(5, 0), head(2, feed_record_bytes_max + 1), head(1, 0xffff'ffff)}) {
    Pipe pipe(1000);
    pipe.come(bytes);
    FrameBuffer buffer(feed_record_bytes_max);
    CHECK(value_or_throw(buffer.read(pipe)) == frame_head_bytes);
    CHECK(buffer.complete());
    CHECK(buffer.next().error().kind() == ErrorKind::bad_input);
  }
  Pipe pipe(100'000'000);
  pipe.come(head(2, feed_record_bytes_max));  // which is possible, and then does not come
  pipe.come(std::vector<std::byte>(100'000));
  FrameBuffer buffer(feed_record_bytes_max);
  CHECK_FALSE(next_of(buffer, pipe));
  CHECK_FALSE(buffer.complete());
  CHECK(pipe.largest_room() < 1'000'000);
}

TEST_CASE("a record whose payload is not what it says is none, nor is an end of another size") {
  FeedMessage to;
  std::vector<std::byte> body(sizeof(FeedRecord) + 8);
  CHECK_FALSE(decode_record(body, to));  // it says 0 bytes, and has 8
  CHECK_FALSE(decode_record(std::span(body).first(sizeof(FeedRecord) - 1), to));
  CHECK(decode_record(std::span(body).first(sizeof(FeedRecord)), to));
  FeedRecord record;
  record.omitted = 2;
  std::memcpy(body.data(), &record, sizeof record);
  CHECK_FALSE(decode_record(std::span(body).first(sizeof(FeedRecord)), to));
  CHECK_FALSE(decode_end(std::vector<std::byte>(23)));
  CHECK_FALSE(decode_end(std::vector<std::byte>(25)));
}

TEST_CASE("frames that the other end does not take wait, and are sent once") {
  Pipe pipe(1000);
  pipe.take(false);
  OutgoingFrames out;
  out.put(ObserverPacket{ObserverCall::ended, 0, {}, "now"});
  const std::size_t bytes = out.bytes();
  CHECK_FALSE(value_or_throw(out.flush(pipe)));
  CHECK(out.bytes() == bytes);
  pipe.take(true);
  CHECK(value_or_throw(out.flush(pipe)));
  CHECK(value_or_throw(out.flush(pipe)));
  CHECK(pipe.known() == bytes);
}
