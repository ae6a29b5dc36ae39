// The memory of a feed, whose every byte a member may have written, and the packets between members and observers.
#include <spindrift/group/feed_cursor.hpp>
#include <spindrift/group/observer_calls.hpp>

#include <algorithm>
#include <array>
#include <cstring>

#include "fuzz.hpp"

namespace {

using namespace spindrift::group;
using spindrift::fuzz::expect;

void read_packet(std::span<const std::byte> bytes) {
  const auto packet = decode_observer_packet(bytes);
  if (!packet) return;
  expect(packet->text.size() <= observer_text_bytes_max, "a text is bounded");
  const auto again = encode(*packet);
  expect(std::ranges::equal(again, bytes), "a packet has one form");
}

void read_feed(std::span<const std::byte> bytes) {
  struct alignas(64) Memory {
    std::array<std::byte, 4096 + 4096> bytes{};
  };
  static Memory memory;
  memory = {};
  FeedWriter writer(memory.bytes);  // so that the magic is right
  constexpr std::size_t behind_magic = 8;
  std::memcpy(memory.bytes.data() + behind_magic, bytes.data(), std::min(bytes.size(), memory.bytes.size() - behind_magic));
  std::uint64_t position = 0;
  std::memcpy(&position, bytes.data() + bytes.size() - std::min(bytes.size(), sizeof position),
              std::min(bytes.size(), sizeof position));
  auto reader = FeedReader::open(memory.bytes, position);
  if (!reader) return;
  FeedCursor cursor(spindrift::DeliveryMode::ordered, {});
  FeedMessage message;
  for (int i = 0; i < 100; ++i) {
    const auto found = reader->next(message);
    if (!found) {
      expect(found.error().kind() == spindrift::ErrorKind::bad_input, "a lie is bad input");
      return;
    }
    if (*found == FeedReader::Found::nothing) break;
    if (*found == FeedReader::Found::message) {
      expect(message.payload.size() <= 4096, "a message fits into its feed");
      static_cast<void>(cursor.judge(message.record));
    }
  }
  if (const auto end = reader->end()) static_cast<void>(cursor.on_end(*end));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  data[0] % 2 == 0 ? read_packet(bytes) : read_feed(bytes);
  return 0;
}
