// The two pure parts of a verbs connection: who knows of how many free buffers, and the space for bytes on their way.
#include <catch2/catch.hpp>

#include <deque>
#include <random>
#include <vector>

#include <spindrift/fabric/verbs/credits.hpp>

using namespace spindrift::fabric::verbs;

namespace {

/// One side of a connection whose other side posts to it.
struct Side {
  Credits credits;
  std::deque<std::uint32_t> coming;  ///< what the other side posted, in order, and its device may deliver
  std::uint32_t filled = 0;          ///< buffers that are in use here
  std::uint32_t heard = 0;           ///< messages that were not mere telling
};

void post(Side& from, Side& to, bool tells) { to.coming.push_back(encode(Immediate{!tells, from.credits.posted()})); }

/// The device delivers the next operation: there must be a buffer for it.
bool deliver(Side& at) {
  if (at.coming.empty()) return false;
  const Immediate said = decode_immediate(at.coming.front());
  at.coming.pop_front();
  REQUIRE(++at.filled <= Credits::buffers);
  REQUIRE(at.credits.on_told(said.given));
  at.heard += said.more ? 1 : 0;
  return true;
}

void give_back(Side& at) { at.credits.gave_back(std::exchange(at.filled, 0)); }

void tell_if_due(Side& from, Side& to) {
  if (from.credits.telling_is_due() && from.credits.may_post(true)) post(from, to, true);
}

}  // namespace

TEST_CASE("no operation ever comes to a peer without a free buffer, and nobody waits for ever") {
  const unsigned seed = GENERATE(range(1U, 41U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  Side sides[2];
  std::uint32_t wanted[2] = {5000, seed % 3 == 0 ? 0U : 5000U};
  std::uint32_t posted[2] = {0, 0};
  for (int step = 0; step < 2'000'000; ++step) {
    const std::size_t self = random() % 2;
    Side& own = sides[self];
    Side& other = sides[1 - self];
    switch (random() % 4) {
      case 0:
        for (auto burst = random() % 200; burst > 0 && posted[self] < wanted[self] && own.credits.may_post(false);
             --burst) {
          post(own, other, false);
          ++posted[self];
        }
        break;
      case 1:
        for (auto burst = random() % 200; burst > 0 && deliver(own); --burst) {
        }
        break;
      case 2: give_back(own); break;
      default: tell_if_due(own, other);
    }
    if (sides[0].heard == wanted[1] && sides[1].heard == wanted[0]) return;
  }
  FAIL("it stopped at " << sides[0].heard << " and " << sides[1].heard);
}

TEST_CASE("the last buffers are kept for telling") {
  Credits credits;
  std::uint32_t messages = 0;
  for (; credits.may_post(false); ++messages) static_cast<void>(credits.posted());
  CHECK(messages == Credits::buffers - Credits::reserve);
  for (std::uint32_t i = 0; i < Credits::reserve; ++i) {
    CHECK(credits.may_post(true));
    static_cast<void>(credits.posted());
  }
  CHECK_FALSE(credits.may_post(true));
  CHECK(credits.on_told(1));
  CHECK(credits.may_post(true));
  CHECK_FALSE(credits.may_post(false));
}

TEST_CASE("a peer that gives back what it never had is found out, also after the count wrapped") {
  Credits credits;
  CHECK_FALSE(credits.on_told(1));
  static_cast<void>(credits.posted());
  CHECK_FALSE(credits.on_told(2));
  CHECK_FALSE(credits.on_told(given_mask));
  CHECK(credits.on_told(1));
  CHECK(credits.on_told(1));
  CHECK_FALSE(credits.on_told(0));
}

TEST_CASE("immediate data keep both of their parts") {
  for (const std::uint32_t given : {0U, 1U, 77U, given_mask}) {
    for (const bool more : {false, true}) {
      const Immediate said = decode_immediate(encode(Immediate{more, given}));
      CHECK(said.more == more);
      CHECK(said.given == given);
    }
  }
}

TEST_CASE("staged pieces never overlap, and all space comes back") {
  constexpr std::uint64_t bytes = 4096;
  struct Piece {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;
    std::uint64_t end = 0;
  };
  const unsigned seed = GENERATE(range(1U, 11U));
  std::mt19937 random(seed);
  Staging staging(bytes);
  std::deque<Piece> taken;
  std::size_t refusals = 0;
  for (int step = 0; step < 5000; ++step) {
    const std::uint64_t size = 1 + random() % (bytes / 4);
    const auto offset = staging.take(size);
    if (!offset) {
      ++refusals;
      REQUIRE_FALSE(taken.empty());  // an empty one has space for every size
      staging.give_back(taken.front().end);
      taken.pop_front();
      continue;
    }
    REQUIRE(*offset + size <= bytes);
    for (const Piece& other : taken) REQUIRE((*offset + size <= other.begin || other.begin + other.size <= *offset));
    taken.push_back({*offset, size, staging.end()});
  }
  CHECK(refusals > 100);
}
