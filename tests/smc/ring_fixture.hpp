// A ring in this process's memory, for tests of its two ends.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <spindrift/smc/ring_reader.hpp>
#include <spindrift/smc/send_ring.hpp>

namespace spindrift::smc {

struct RingFixture {
  explicit RingFixture(std::uint64_t ring_bytes = 256, std::uint64_t window = 8, std::uint64_t message_bytes = 64)
      : profile{ring_bytes, window, message_bytes},
        words(ring_bytes / 8),
        ring(bytes(), profile),
        reader(bytes().data(), ring_bytes, message_bytes) {}

  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words)); }

  bool send(std::string_view text) {
    const auto reservation = ring.reserve(text.size());
    if (!reservation) return false;
    if (!text.empty()) std::memcpy(reservation->payload.data(), text.data(), text.size());
    ring.commit(*reservation);
    return true;
  }

  /// Collects everything and reads it; nulls as "-".
  std::vector<std::string> drain() {
    static_cast<void>(ring.collect(~std::uint64_t{0}));
    std::vector<std::string> messages;
    while (reader.count() < ring.committed_count()) {
      const auto message = reader.next(ring.committed_count());
      if (!message) return {std::string("fault: ") + reader.fault()};
      const auto* text = reinterpret_cast<const char*>(message->payload.data());
      messages.push_back(message->null ? "-" : std::string(text, message->payload.size()));
    }
    return messages;
  }

  Profile profile;
  std::vector<std::uint64_t> words;
  SendRing ring;
  RingReader reader;
};

}  // namespace spindrift::smc
