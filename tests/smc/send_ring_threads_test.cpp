// Many application threads against one poller: nothing is lost, torn or reordered per thread. Run under ThreadSanitizer too.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "ring_fixture.hpp"

using namespace spindrift;
using namespace spindrift::smc;

namespace {

struct Stamp {
  std::uint64_t thread;
  std::uint64_t number;
};

// Sends `count` stamps, each repeated over a payload whose size changes from message to message.
void send_stamps(SendRing& ring, std::uint64_t thread, std::uint64_t count) {
  for (std::uint64_t number = 0; number < count;) {
    const std::uint64_t stamps = 1 + number % 7;
    const auto reservation = ring.reserve(stamps * sizeof(Stamp));
    if (!reservation) {
      std::this_thread::yield();
      continue;
    }
    if (number % 97 == 13 && thread == 0) {
      ring.abandon(*reservation);
    } else {
      const Stamp stamp{thread, number};
      std::byte* const to = reservation->payload.data();
      for (std::uint64_t i = 0; i < stamps; ++i) std::memcpy(to + i * sizeof stamp, &stamp, sizeof stamp);
      ring.commit(*reservation);
    }
    ++number;
  }
}

}  // namespace

TEST_CASE("messages of concurrent threads arrive whole, once, and in each thread's order") {
  constexpr std::uint64_t threads = 4, per_thread = 20'000;
  RingFixture f(8192, 50, 7 * sizeof(Stamp));
  std::vector<std::thread> senders;
  for (std::uint64_t t = 0; t < threads; ++t) senders.emplace_back([&, t] { send_stamps(f.ring, t, per_thread); });

  std::vector<std::uint64_t> next(threads, 0);
  std::uint64_t taken = 0, nulls = 0;
  bool whole = true, ordered = true;
  while (taken < threads * per_thread) {
    static_cast<void>(f.ring.collect(16));
    while (f.reader.count() < f.ring.committed_count()) {
      const auto message = f.reader.next(f.ring.committed_count());
      REQUIRE(message);
      ++taken;
      if (message->null) {
        ++nulls;
        ++next[0];
        continue;
      }
      Stamp first;
      std::memcpy(&first, message->payload.data(), sizeof first);
      REQUIRE(first.thread < threads);
      ordered &= first.number == next[first.thread]++;
      whole &= message->payload.size() == (1 + first.number % 7) * sizeof(Stamp);
      for (std::size_t at = 0; at < message->payload.size(); at += sizeof(Stamp)) {
        whole &= std::memcmp(message->payload.data() + at, &first, sizeof first) == 0;
      }
    }
    f.ring.release(f.ring.committed_count());
  }
  for (std::thread& sender : senders) sender.join();
  CHECK(whole);
  CHECK(ordered);
  CHECK(nulls > 0);
  CHECK(f.ring.drained());
}
