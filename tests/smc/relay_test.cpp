// The relays: every scheme reaches everybody, once, from a member that has the message.
#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include <spindrift/smc/ablation.hpp>
#include <spindrift/smc/relay.hpp>

using namespace spindrift::smc;

namespace {

/// How many writes a message takes to reach `member`; 0 if its sources lead in a circle.
std::uint32_t hops(Relay way, std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal, std::uint32_t member) {
  std::uint32_t count = 0;
  while (member != sender && count <= members) {
    member = way(members, sender, ordinal, member);
    ++count;
  }
  return member == sender ? count : 0;
}

std::vector<std::uint32_t> writes(Relay way, std::uint32_t members, std::uint32_t sender, std::uint64_t ordinal) {
  std::vector<std::uint32_t> by(members);
  for (std::uint32_t member = 0; member < members; ++member) {
    if (member != sender) ++by[way(members, sender, ordinal, member)];
  }
  return by;
}

}  // namespace

TEST_CASE("whoever relays, every message comes from its sender to everybody") {
  for (const Relay way : {Relay{relay::direct}, Relay{relay::rotation}, Relay{relay::chain}, Relay{relay::tree}}) {
    for (std::uint32_t members = 2; members <= 17; ++members) {
      for (std::uint32_t sender = 0; sender < members; sender += 3) {
        for (std::uint64_t ordinal = 0; ordinal < 40; ++ordinal) {
          std::uint32_t most = 0;
          for (std::uint32_t member = 0; member < members; ++member) {
            if (member == sender) continue;
            const std::uint32_t length = hops(way, members, sender, ordinal, member);
            REQUIRE(length > 0);
            most = std::max(most, length);
          }
          if (way == relay::direct) CHECK(most == 1);
          if (way == relay::rotation) CHECK(most <= 2);
          if (way == relay::chain) CHECK(most == members - 1);
        }
      }
    }
  }
}

TEST_CASE("by rotation the sender writes each message once, and the others share the rest evenly") {
  std::vector<std::uint32_t> by(6);
  for (std::uint64_t ordinal = 100; ordinal < 105; ++ordinal) {
    const auto each = writes(relay::rotation, 6, 2, ordinal);
    CHECK(each[2] == 1);
    std::transform(by.begin(), by.end(), each.begin(), by.begin(), std::plus<>());
  }
  CHECK(by == std::vector<std::uint32_t>{4, 4, 5, 4, 4, 4});
}

TEST_CASE("of two members the other is the one that gets it from the sender") {
  CHECK(relay::rotation(2, 1, 7, 0) == 1);
  CHECK(writes(relay::rotation, 2, 0, 3) == std::vector<std::uint32_t>{1, 0});
}
