// The bytes with which another member hands its history to a newcomer: however they are cut on their way, the same history
// comes of them, within its bounds, or the same refusal; and it goes on to the next newcomer as it is.
#include <spindrift/group/history_stream.hpp>

#include <optional>
#include <string>
#include <vector>

#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::group;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

constexpr Time now{std::chrono::hours(1)};

struct Taken {
  std::optional<std::string> refused;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
  std::vector<std::vector<std::byte>> payloads;
  friend bool operator==(const Taken&, const Taken&) = default;
};

void read_all(const MessageHistory& history, const ExpectedHistory& expected, Taken& taken) {
  const HistoryBounds& bounds = expected.bounds;
  taken.first = history.first();
  taken.end = history.end();
  HistoryWalk walk(history.snapshot(), taken.first);
  for (std::uint64_t version = taken.first;;) {
    const auto batch = walk.next();
    if (batch.empty()) break;
    for (const Delivery& each : batch) {
      expect(each.version == version++, "versions have no gap");
      expect(each.payload.size() <= expected.message_bytes_max, "no message is larger than the subgroup's");
      taken.payloads.emplace_back(each.payload.begin(), each.payload.end());
    }
  }
  expect(taken.payloads.size() == taken.end - taken.first, "each version has its message");
  expect(bounds.messages == 0 || taken.payloads.size() <= bounds.messages, "no more messages are kept than the bounds say");
  expect(bounds.bytes == 0 || taken.payloads.empty() || history.bytes() <= bounds.bytes, "nor more bytes");
}

/// Those of the history as it would go to the next newcomer.
std::vector<std::byte> sent_again(const MessageHistory& history) {
  const auto reader = read_history(history.snapshot(), now);
  std::vector<std::byte> bytes(reader->bytes());
  reader->read(0, bytes);
  return bytes;
}

Taken taken_of(std::span<const std::byte> bytes, std::size_t at_once, const ExpectedHistory& expected,
               std::vector<std::byte>* again = nullptr) {
  Taken taken;
  try {
    HistoryWriter writer(expected, now, [&](const MessageHistory& history) {
      read_all(history, expected, taken);
      if (again != nullptr) *again = sent_again(history);
    });
    for (auto rest = bytes; !rest.empty(); rest = rest.subspan(std::min(at_once, rest.size())))
      writer.write(rest.first(std::min(at_once, rest.size())));
    writer.finish();
  } catch (const UnloadableState& refused) {
    taken.refused = refused.error().message();
  }
  return taken;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::size_t at_once = 1 + choices.choice(64);
  ExpectedHistory expected{"orders", {}, 1 + choices.choice(256)};
  expected.bounds = HistoryBounds{choices.choice(8), 100 * choices.choice(16), 1000 * choices.choice(4)}.completed();
  const auto bytes = std::as_bytes(choices.rest());
  std::vector<std::byte> again;
  const Taken whole = taken_of(bytes, bytes.size() + 1, expected, &again);
  expect(whole == taken_of(bytes, at_once, expected), "cuts make no difference");
  if (whole.refused) return 0;
  expect(whole == taken_of(again, at_once, expected), "what was taken goes on as it is");
  return 0;
}
