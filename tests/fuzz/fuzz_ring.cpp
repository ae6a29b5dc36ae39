// A peer's ring of any bytes, changing while it is read: the reader stays inside of it, ends, and says what was wrong.
#include <spindrift/smc/ring_reader.hpp>

#include <array>
#include <functional>
#include <memory>

#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using spindrift::fuzz::expect;
  spindrift::fuzz::Choices choices(data, size);

  // Exactly the ring's bytes on the heap, so that the sanitizer sees one byte too far.
  const std::uint64_t ring_bytes = std::uint64_t{64} << choices.choice(7);
  const std::uint64_t message_bytes_max = choices.number(2) % (ring_bytes / 2 - 8 + 1);
  const auto words = std::make_unique<std::uint64_t[]>(ring_bytes / 8);
  std::byte* const ring = reinterpret_cast<std::byte*>(words.get());
  const auto scribble = [&](std::uint64_t at, std::size_t bytes) {
    const auto taken = choices.take(std::min<std::uint64_t>(bytes, ring_bytes - at));
    if (!taken.empty()) std::memcpy(ring + at, taken.data(), taken.size());
  };
  scribble(0, choices.number(2));

  // Only descriptors point into the bulk ring, so what it holds does not matter.
  constexpr std::uint64_t bulk_ring_bytes = 256;
  constexpr std::uint64_t large_bytes_max = 128;
  const auto bulk_words = std::make_unique<std::uint64_t[]>(bulk_ring_bytes / 8);
  const std::byte* const bulk = reinterpret_cast<const std::byte*>(bulk_words.get());

  spindrift::smc::RingReader reader(ring, ring_bytes, message_bytes_max);
  reader.set_bulk(bulk, bulk_ring_bytes, large_bytes_max);
  std::uint64_t committed = 0;
  do {
    committed += choices.number(2);  // its caller bounds the count by the window
    while (reader.count() < committed) {
      const std::uint64_t before = reader.count();
      const auto message = reader.next(committed);
      if (!message) {
        expect(reader.fault() != nullptr, "a reader that stops says why");
        return 0;
      }
      expect(reader.count() == before + 1, "one call, one message");
      const std::uint64_t most = message->large ? large_bytes_max : message_bytes_max;
      expect(message->payload.size() <= most, "a payload is at most the largest message");
      if (!message->payload.empty()) {
        const std::byte* const begin = message->large ? bulk : ring;
        const std::byte* const end = message->payload.data() + message->payload.size();
        expect(std::greater_equal<>{}(message->payload.data(), begin) &&
                   std::less_equal<>{}(end, begin + (message->large ? bulk_ring_bytes : ring_bytes)),
               "a payload lies inside of its ring");
      }
    }
    scribble(choices.choice(ring_bytes / 8) * 8, choices.number(1));
  } while (!choices.empty());
  return 0;
}
