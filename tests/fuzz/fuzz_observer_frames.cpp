// The bytes that somebody sends to an observer of another host, or to the port for such: however they are cut on their way,
// the same frames come out, or the same refusal, and no more memory is taken than came.
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/observer_frames.hpp>

#include <vector>

#include "cut_stream.hpp"
#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::group;
using spindrift::fuzz::Choices;
using spindrift::fuzz::CutStream;
using spindrift::fuzz::expect;

constexpr CutStream::Room room{.first = std::size_t{256} << 10U, .times = 3};

struct Outcome {
  std::vector<std::vector<std::byte>> frames;
  bool refused = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(std::span<const std::byte> bytes, std::size_t at_once, std::size_t body_bytes_max) {
  CutStream parts(bytes, at_once, room);
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
