// Threads come and go through a gate while the poller closes and opens it.
#include <catch2/catch.hpp>

#include <cstring>
#include <thread>
#include <vector>

#include <spindrift/core/asymmetric_barrier.hpp>
#include <spindrift/views/send_gate.hpp>

using namespace spindrift;
using views::SendGate;

TEST_CASE("behind a closed gate with nobody inside, all that was reserved is committed, with more threads than places") {
  constexpr int threads = 20;
  const Profile profile{.ring_bytes = 65536, .window_messages = 512, .message_bytes_max = 64};
  SendGate gate;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> sent{0};
  std::vector<std::thread> senders;
  for (int i = 0; i < threads; ++i) {
    senders.emplace_back([&] {
      SendGate::Claim claim;
      while (!stop) {
        if (gate.reserve(8, claim) != SendGate::Outcome::reserved) {
          static_cast<void>(gate.half_free());  // looks into the ring, whose view may end
          std::this_thread::yield();
          continue;
        }
        const std::uint64_t value = 42;
        std::memcpy(claim.reservation.payload.data(), &value, sizeof value);
        gate.commit(claim);
        ++sent;
      }
    });
  }
  std::uint64_t collected = 0;
  std::size_t unsettled = 0;
  for (int view = 0; view < 200; ++view) {
    // As in a Group: a ring of its own for every view, and the old one's memory goes.
    std::vector<std::uint64_t> memory(profile.ring_bytes / 8);
    smc::SendRing ring(std::as_writable_bytes(std::span(memory)), profile);
    gate.open(ring);
    while (ring.committed_count() < 20) {
      ring.collect(~std::uint64_t{0});
      std::this_thread::yield();
    }
    CHECK(gate.close());
    CHECK_FALSE(gate.close());
    heavy_barrier();
    while (!gate.vacated()) std::this_thread::yield();
    ring.collect(~std::uint64_t{0});
    unsettled += ring.drained() ? 0 : 1;
    collected += ring.committed_count();
  }
  stop = true;
  for (std::thread& sender : senders) sender.join();
  CHECK(unsettled == 0);
  CHECK(collected == sent);
}

TEST_CASE("a large message that finds no space is out of the gate again") {
  const Profile profile{.ring_bytes = 65536,
                        .window_messages = 512,
                        .message_bytes_max = 4096,
                        .bulk_ring_bytes = 8192,
                        .large_message_bytes = 64};
  std::vector<std::uint64_t> memory(profile.ring_bytes / 8);
  std::vector<std::byte> bulk_memory(profile.bulk_ring_bytes);
  smc::SendRing ring(std::as_writable_bytes(std::span(memory)), profile);
  smc::BulkRing bulk(bulk_memory, ring, profile.message_bytes_max);
  SendGate gate;
  gate.open(ring, &bulk);
  SendGate::Claim first;
  REQUIRE(gate.reserve_large(4096, first) == SendGate::Outcome::reserved);
  gate.commit(first);
  SendGate::Claim second;
  REQUIRE(gate.reserve_large(4096, second) == SendGate::Outcome::reserved);
  SendGate::Claim third;
  REQUIRE(gate.reserve_large(4096, third) == SendGate::Outcome::full);
  CHECK(gate.close());
  CHECK_FALSE(gate.vacated());  // the second is still being built
  gate.abandon(second);
  CHECK(gate.vacated());
  CHECK(gate.reserve_large(4096, third) == SendGate::Outcome::closed);
  CHECK(gate.vacated());
}
