// Turns that get shorter when handlers are slow, and longer again.
#include <catch2/catch.hpp>

#include "scheduler_pair.hpp"

using namespace spindrift;
using namespace spindrift::smc;
using std::chrono::milliseconds;

namespace {

constexpr std::uint32_t busy = 2;
constexpr std::uint32_t rare = 9;

/// Fills the ring of the busy subgroup, and lets both run once.
void pass(Pair& pair) {
  auto& [sender, receiver] = pair.nodes;
  SendRing& ring = *sender.scheduler.multicast(SubgroupId(busy))->ring();
  while (const auto reservation = ring.reserve(16)) ring.commit(*reservation);
  static_cast<void>(sender.run());
  static_cast<void>(receiver.run());
}

}  // namespace

TEST_CASE("a message beside a subgroup at full rate does not wait for the window of that one, though the handler is slow") {
  const DeliveryMode mode = GENERATE(DeliveryMode::ordered, DeliveryMode::unordered);
  Pair pair({}, mode);
  auto& [sender, receiver] = pair.nodes;
  receiver.message_cost = milliseconds(1);
  for (int i = 0; i < 20; ++i) pass(pair);
  for (int i = 0; i < 10; ++i) {
    for (int between = 0; between < i; ++between) pass(pair);
    const std::uint64_t before = receiver.delivered[rare];
    const Time sent_at = receiver.now;
    sender.send(rare);
    while (receiver.delivered[rare] == before) pass(pair);
    // Its sender looks at two of the twenty subgroups in each pass, which here goes in step with the slow one.
    CHECK(receiver.now - sent_at <= 12 * TurnPacer::pass_long);
  }
  CHECK(receiver.delivered[busy] > 100);
}

TEST_CASE("a handler that is quick has turns and batches as long as may be") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  receiver.message_cost = std::chrono::microseconds(1);
  receiver.closed = SubgroupId(busy);
  pass(pair);
  pass(pair);
  receiver.closed = SubgroupId(subgroup_count);
  pass(pair);
  pass(pair);
  CHECK(receiver.batch_longest > 200);
}

TEST_CASE("turns are cut in proportion to what the pass before took, and not for a member in one subgroup alone") {
  TurnPacer pacer({.messages = 1000});
  const bool shared = GENERATE(true, false);
  pacer.begin_pass(Time(), shared);
  pacer.end_pass(true);
  pacer.begin_pass(Time(99 * TurnPacer::pass_long), shared);
  CHECK(pacer.limits().messages == (shared ? 10 : 1000));
  CHECK(pacer.limits().batch == (shared ? 10 : ~std::uint64_t{0}));
}

TEST_CASE("turns grow again when passes are short") {
  TurnPacer pacer({.messages = 1000});
  Time now;
  pacer.begin_pass(now, true);
  pacer.end_pass(true);
  pacer.begin_pass(now += std::chrono::hours(1), true);
  CHECK(pacer.limits().messages == 1);
  for (int i = 0; i < 12; ++i) {
    pacer.end_pass(true);
    pacer.begin_pass(now += TurnPacer::pass_long / 5, true);
  }
  CHECK(pacer.limits().messages == 1000);
  CHECK(pacer.limits().batch == ~std::uint64_t{0});
}

TEST_CASE("time behind a pass that delivered nothing is no time of handlers") {
  TurnPacer pacer({.messages = 1000});
  pacer.begin_pass(Time(), true);
  pacer.end_pass(false);
  pacer.begin_pass(Time(std::chrono::hours(1)), true);
  CHECK(pacer.limits().messages == 1000);
}
