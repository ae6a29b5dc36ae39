// Small writes that a peer's message says: into the memory that it was given, and nowhere else.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <spindrift/fabric/connected/small_writes.hpp>

#include "unprovided.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::connected;

namespace {

constexpr std::uint64_t right = 7;
constexpr std::uint64_t first_address = 4096;

/// A region of 64 bytes in the midst of other memory, which a peer may write to.
struct Target {
  explicit Target(Access access = Access::write) {
    region.memory = std::span(memory).subspan(256, 64);
    Connection::Grant grant;
    grant.memory = &region;
    grant.access = access;
    connection.granted.emplace(right, std::move(grant));
  }
  void write(std::uint64_t key, std::uint64_t address, std::size_t bytes) {
    const std::vector<std::byte> ones(bytes, std::byte{1});
    std::vector<std::byte> message(header_bytes);
    REQUIRE(append(message, {key, address, ones}));
    carry_out(connection, std::span<const std::byte>(message).subspan(header_bytes),
              [](const OwnRegion&) { return first_address; });
  }
  /// How many bytes were written, in the region and around it.
  [[nodiscard]] std::pair<std::ptrdiff_t, std::ptrdiff_t> written() const {
    const auto within = std::count(region.memory.begin(), region.memory.end(), std::byte{1});
    return {within, std::count(memory.begin(), memory.end(), std::byte{1}) - within};
  }

  alignas(8) std::array<std::byte, 1024> memory{};
  OwnRegion region;
  PeerCall call;
  Unprovided connection{call};
};

}  // namespace

TEST_CASE("small writes within a region land there, up to its last byte") {
  Target target;
  target.write(right, first_address, 8);
  target.write(right, first_address + 48, 16);
  CHECK(target.written() == std::pair<std::ptrdiff_t, std::ptrdiff_t>(24, 0));
  CHECK_FALSE(target.connection.broken());
}

TEST_CASE("a small write that is not wholly within its region ends the connection, and touches nothing") {
  Target target;
  const auto [address, bytes] = GENERATE(table<std::uint64_t, std::size_t>({{first_address + 64, 8},
                                                                            {first_address + 56, 16},
                                                                            {first_address - 8, 8},
                                                                            {first_address - 8, 16},
                                                                            {first_address - 256, 256},
                                                                            {0, 8},
                                                                            {~std::uint64_t{0} - 7, 8}}));
  target.write(right, address, bytes);
  CHECK(target.connection.broken() == "it wrote out of the memory that it was given");
  CHECK(target.written() == std::pair<std::ptrdiff_t, std::ptrdiff_t>(0, 0));
}

TEST_CASE("a small write without a right to write ends the connection") {
  Target readable(Access::read);
  readable.write(right, first_address, 8);
  CHECK(readable.connection.broken() == "it wrote to memory that it was not given");
  Target target;
  target.write(right + 1, first_address, 8);
  CHECK(target.connection.broken() == "it wrote to memory that it was not given");
  CHECK(target.written() == std::pair<std::ptrdiff_t, std::ptrdiff_t>(0, 0));
}

TEST_CASE("a small write to memory that was released since goes nowhere, and is nobody's fault") {
  Target target;
  target.region.released = true;
  target.write(right, first_address, 8);
  CHECK_FALSE(target.connection.broken());
  CHECK(target.written() == std::pair<std::ptrdiff_t, std::ptrdiff_t>(0, 0));
}
