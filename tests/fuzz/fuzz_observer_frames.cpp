// The bytes that somebody sends to an observer of another host, or to the port for such: however they are cut on their way,
// the same frames come out, or the same refusal, and no more memory is taken than came.
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/observer_frames.hpp>

#include <algorithm>
#include <vector>

#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::group;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

/// Gives bytes in parts of that size.
class Parts final : public fabric::tcp::UnprovenStream {
 public:
  Parts(std::span<const std::byte> bytes, std::size_t at_once) : rest_(bytes), at_once_(at_once) {}

  [[nodiscard]] Result<std::size_t> read(std::span<const iovec> to) override {
    expect(to[0].iov_len > 0 && to[0].iov_len <= 3 * came_ + (std::size_t{256} << 10U), "memory grows with what came");
    const std::size_t count = std::min({to[0].iov_len, at_once_, rest_.size()});
    std::copy_n(rest_.begin(), count, static_cast<std::byte*>(to[0].iov_base));
    rest_ = rest_.subspan(count);
    came_ += count;
    return count;
  }
  [[nodiscard]] std::size_t known() const noexcept override { return rest_.size(); }
  [[nodiscard]] bool holds_bytes() const noexcept override { return !rest_.empty(); }
  [[nodiscard]] Result<std::size_t> write(std::span<const iovec>) override { return 0; }
  [[nodiscard]] Result<bool> flush() override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }

 private:
  std::span<const std::byte> rest_;
  const std::size_t at_once_;
  std::size_t came_ = 0;
};

struct Outcome {
  std::vector<std::vector<std::byte>> frames;
  bool refused = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(std::span<const std::byte> bytes, std::size_t at_once, std::size_t body_bytes_max) {
  Parts parts(bytes, at_once);
  FrameBuffer buffer(body_bytes_max);
  FeedCursor cursor(DeliveryMode::ordered, {});
  Outcome outcome;
  FeedMessage message;
  while (true) {
    const bool complete = buffer.complete();
    const auto frame = buffer.next();
    expect(complete == (!frame || frame->has_value()), "it is known whether there is a frame");
    if (!frame) {
      outcome.refused = true;
      return outcome;
    }
    if (!*frame) {
      if (*buffer.read(parts) == 0) return outcome;
      continue;
    }
    const auto body = (*frame)->body;
    expect(body.size() <= body_bytes_max, "a frame is bounded");
    outcome.frames.emplace_back(body.begin(), body.end());
    if (decode_record(body, message)) {
      expect(message.payload.size() <= body.size(), "a payload came with its record");
      static_cast<void>(cursor.judge(message.record));
    }
    if (const auto end = decode_end(body)) static_cast<void>(cursor.on_end(*end));
    static_cast<void>(decode_observer_packet(body));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::size_t at_once = 1 + choices.choice(64);
  const std::size_t body_bytes_max = choices.choice(2) == 0 ? observer_packet_bytes_max : feed_record_bytes_max;
  const auto bytes = std::as_bytes(choices.rest());
  expect(outcome_of(bytes, at_once, body_bytes_max) == outcome_of(bytes, bytes.size() + 1, body_bytes_max),
         "cuts make no difference");
  return 0;
}
