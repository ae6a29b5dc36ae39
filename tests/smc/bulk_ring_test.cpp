// The ring for large messages: pieces in order, never cut, and free only when it is said.
#include <catch2/catch.hpp>

#include <array>

#include <spindrift/smc/bulk_ring.hpp>

#include "ring_fixture.hpp"

using namespace spindrift;
using namespace spindrift::smc;

namespace {

struct BulkFixture {
  Profile profile{
      .ring_bytes = 256, .window_messages = 6, .message_bytes_max = 512, .bulk_ring_bytes = 1024, .large_message_bytes = 16};
  std::vector<std::uint64_t> words = std::vector<std::uint64_t>(256 / 8);
  alignas(64) std::array<std::byte, 1024> memory{};
  SendRing ring{std::as_writable_bytes(std::span(words)), profile};
  BulkRing bulk{memory, ring, profile.message_bytes_max};
  RingReader reader = made();

  RingReader made() {
    RingReader one(std::as_bytes(std::span(words)).data(), profile.ring_bytes, profile.ring_payload_max());
    one.set_bulk(memory.data(), memory.size(), profile.message_bytes_max);
    return one;
  }
  std::optional<std::uint64_t> reserve(std::uint64_t bytes) {
    const auto reservation = bulk.reserve(bytes);
    if (!reservation) return std::nullopt;
    CHECK(reservation->payload.size() == bytes);
    bulk.commit(*reservation);
    return static_cast<std::uint64_t>(reservation->payload.data() - memory.data());
  }
  RingReader::Message read() {
    static_cast<void>(ring.collect(~std::uint64_t{0}));
    const auto message = reader.next(ring.committed_count());
    REQUIRE(message);
    return *message;
  }
};

}  // namespace

TEST_CASE("large messages lie one behind another at multiples of 64 bytes") {
  BulkFixture f;
  CHECK(f.reserve(17) == 0);
  CHECK(f.reserve(65) == 64);
  CHECK(f.reserve(1) == 192);
  const auto first = f.read();
  CHECK(first.large);
  CHECK(first.payload.data() == f.memory.data());
  CHECK(first.payload.size() == 17);
  CHECK(f.read().payload.data() == f.memory.data() + 64);
  CHECK(f.reader.large().end() == 192);
}

TEST_CASE("a large message that does not fit before the end begins at the start, and leaves out what comes back with it") {
  BulkFixture f;
  CHECK(f.reserve(512) == 0);
  CHECK(f.reserve(320) == 512);
  CHECK_FALSE(f.reserve(256));  // 192 are left at the end, none at the start
  static_cast<void>(f.read());
  f.bulk.release(f.reader.large().end());
  CHECK(f.reserve(256) == 0);
  CHECK_FALSE(f.reserve(512));
  static_cast<void>(f.read());
  f.bulk.release(f.reader.large().end());
  static_cast<void>(f.read());
  f.bulk.release(f.reader.large().end());
  CHECK(f.bulk.half_free());
  CHECK(f.reserve(512) == 256);
}

TEST_CASE("a large message needs both rings, and takes of neither if one is full") {
  BulkFixture f;
  for (int i = 0; i < 6; ++i) {
    const auto small = f.ring.reserve(8);
    REQUIRE(small);
    f.ring.commit(*small);
  }
  CHECK_FALSE(f.bulk.reserve(64));  // the window is full
  static_cast<void>(f.ring.collect(~std::uint64_t{0}));
  f.ring.release(1);
  CHECK(f.reserve(64) == 0);
}

TEST_CASE("a large message that is given up keeps its place in both rings, and is nobody's") {
  BulkFixture f;
  const auto given_up = f.bulk.reserve(100);
  REQUIRE(given_up);
  f.bulk.abandon(*given_up);
  CHECK(f.reserve(64) == 128);
  const auto null = f.read();
  CHECK(null.null);
  CHECK(null.large);
  CHECK(f.reader.large().end() == 128);
  CHECK_FALSE(f.read().null);
}

TEST_CASE("a descriptor that points out of the bulk ring, or a large message where there is none, is refused") {
  const auto fault = [](LargeDescriptor descriptor, std::uint32_t length, bool has_bulk) {
    BulkFixture f;
    f.words[0] = RecordHeader{length, RecordKind::large, 0}.encode();
    f.words[1] = descriptor.position;
    f.words[2] = descriptor.length;
    RingReader reader = f.made();
    if (!has_bulk) reader.set_bulk(nullptr, 0, 0);
    const auto message = reader.next(1);
    return message ? std::string() : std::string(reader.fault());
  };
  CHECK(fault({960, 64}, 16, true).empty());
  CHECK(fault({1024, 512}, 16, true).empty());
  for (const LargeDescriptor wrong : {LargeDescriptor{960, 65}, {1, 64}, {0, 0}, {0, 513}, {8, 8}, {0, ~std::uint64_t{0}}}) {
    CHECK(fault(wrong, 16, true) == "a descriptor that points out of the bulk ring");
  }
  CHECK(fault({0, 64}, 8, true) == "a large message without a bulk ring, or with a descriptor that does not fit");
  CHECK(fault({0, 64}, 16, false) == "a large message without a bulk ring, or with a descriptor that does not fit");
}
