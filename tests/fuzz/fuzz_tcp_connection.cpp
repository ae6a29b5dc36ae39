// Writes of a peer over TCP that has a key and says what it likes: whatever its frames announce, and however they are cut,
// each lands whole and in order, word by word and within the region, or ends the connection and changes nothing.
#include "fuzz.hpp"

#include <numeric>
#include <vector>

#include "../fabric/scripted_peer.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using spindrift::fuzz::Choices;
using spindrift::fuzz::expect;

namespace {

constexpr std::size_t frames_max = 12;

/// Near a border as often as not.
std::uint64_t offset_of(Choices& choices, std::size_t region_bytes, std::size_t bytes) {
  switch (choices.choice(5)) {
    case 0: return choices.number(2) % (region_bytes + 1);
    case 1: return region_bytes - std::min(region_bytes, bytes) + choices.choice(3);
    case 2: return region_bytes + choices.choice(9) - std::min<std::size_t>(region_bytes, 4);
    case 3: return choices.number(8);
    default: return 0 - bytes + choices.choice(17);
  }
}

std::vector<std::byte> payload_of(std::size_t bytes, std::size_t seed) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) payload[i] = static_cast<std::byte>((i + 1) * 31 + i / 256 + seed * 101);
  return payload;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::size_t region_bytes = 1 + choices.number(2) % 20'000;
  test::HearingConnection hearing(region_bytes);
  test::ExpectedMemory expected(region_bytes);
  std::vector<std::byte> stream;
  bool fits = true;
  for (std::size_t i = 0; i < frames_max && fits && !choices.empty(); ++i) {
    const std::size_t bytes = 1 + choices.number(2) % 20'000;
    const std::uint64_t offset = offset_of(choices, region_bytes, bytes);
    const bool own_key = choices.choice(16) != 0;
    const auto payload = payload_of(bytes, i);
    const auto frame = test::HearingConnection::frame(
        {tcp::FramePurpose::write, 0, own_key ? hearing.key() : hearing.key() + 1, offset}, payload);
    stream.insert(stream.end(), frame.begin(), frame.end());
    fits = own_key && expected.write(offset, payload);
  }
  for (std::size_t said = 0; said < stream.size();) {
    const std::size_t part = std::min<std::size_t>(stream.size() - said, 1 + choices.number(2) % 30'000);
    const auto begin = stream.begin() + static_cast<std::ptrdiff_t>(said);
    hearing.hear({begin, begin + static_cast<std::ptrdiff_t>(part)});
    said += part;
    expect(hearing.guards_hold(), "nothing lands beside a region");
    expect(expected.has_held(hearing.memory()), "no word is torn, and none holds what it was never to hold");
    if (choices.empty()) choices = Choices(data, size);
  }
  expect(hearing.broken().has_value() == !fits, "what does not fit ends the connection, and nothing else does");
  expect(expected.is(hearing.memory()), "what fits lands, in order, and what does not changes nothing");
  return 0;
}
