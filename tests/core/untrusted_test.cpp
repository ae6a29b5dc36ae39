// Words that a peer wrote open only through a check.
#include <catch2/catch.hpp>

#include <array>
#include <optional>

#include <spindrift/core/untrusted.hpp>

using namespace spindrift;

TEST_CASE("an untrusted number opens within its bounds and nowhere else") {
  const Untrusted<std::uint64_t> word(7);
  CHECK(word.within(7, 7) == 7U);
  CHECK(word.within(0, 7) == 7U);
  CHECK_FALSE(word.within(8, 9));
  CHECK_FALSE(word.within(0, 6));
  CHECK_FALSE(word.within(9, 5));
  CHECK(word.equals(7));
  CHECK_FALSE(word.equals(8));
}

TEST_CASE("an untrusted word opens through a checker that may refuse") {
  const auto even_half = [](std::uint64_t value) -> std::optional<std::uint64_t> {
    if (value % 2 != 0) return std::nullopt;
    return value / 2;
  };
  CHECK(Untrusted<std::uint64_t>(8).validate(even_half) == 4U);
  CHECK_FALSE(Untrusted<std::uint64_t>(7).validate(even_half));
}

TEST_CASE("a stored word is read back whole") {
  alignas(8) std::array<std::byte, 16> memory{};
  store_release(memory.data() + 8, 0x0123'4567'89ab'cdef);
  CHECK(load_acquire(memory.data()) == 0);
  CHECK(load_acquire(memory.data() + 8) == 0x0123'4567'89ab'cdef);
  CHECK(read_word(memory.data() + 8).equals(0x0123'4567'89ab'cdef));
}
