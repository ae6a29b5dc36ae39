// The bytes that a peer sends over a connection for calls: however they are cut on their way, the same packets come out, or
// the same refusal, and no more memory is taken than came.
#include <spindrift/rpc/tcp/packet_frames.hpp>
#include <spindrift/rpc/wire.hpp>

#include <vector>

#include "cut_stream.hpp"
#include "fuzz.hpp"

namespace {

using namespace spindrift;
using namespace spindrift::rpc;
using spindrift::fuzz::Choices;
using spindrift::fuzz::CutStream;
using spindrift::fuzz::expect;

constexpr CutStream::Room room{.first = 4096, .times = 4};

struct Outcome {
  std::vector<std::vector<std::byte>> packets;
  bool refused = false;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(std::span<const std::byte> bytes, std::size_t at_once, std::size_t payload_bytes) {
  CutStream parts(bytes, at_once, room);
  PacketFrames frames(header_bytes + payload_bytes);
  Outcome outcome;
  while (true) {
    const bool complete = frames.complete();
    const auto packet = frames.next();
    expect(complete == (!packet || packet->has_value()), "it is known whether there is a packet");
    if (!packet) {
      outcome.refused = true;
      return outcome;
    }
    if (!*packet) {
      if (*frames.read(parts) == 0) return outcome;
      continue;
    }
    expect((*packet)->size() >= header_bytes && (*packet)->size() <= header_bytes + payload_bytes, "a packet is bounded");
    outcome.packets.emplace_back((*packet)->begin(), (*packet)->end());
    static_cast<void>(decode(**packet, payload_bytes));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::size_t at_once = 1 + choices.choice(64);
  const std::size_t payload_bytes = choices.choice(2) == 0 ? payload_bytes_least : payload_bytes_most;
  const auto bytes = std::as_bytes(choices.rest());
  expect(outcome_of(bytes, at_once, payload_bytes) == outcome_of(bytes, bytes.size() + 1, payload_bytes),
         "cuts make no difference");
  return 0;
}
