// Times of own messages, with the time of each pass in the test's hands.
#include <catch2/catch.hpp>

#include <optional>

#include <spindrift/core/histogram.hpp>

#include "scheduler_pair.hpp"

using namespace spindrift;
using namespace spindrift::smc;
using std::chrono::microseconds;

namespace {

HistogramValues times(const Node& node, const std::string& name) {
  HistogramValues values;
  for (const CounterValue& counter : node.counters.values()) {
    const auto part = histogram_part(counter.name);
    if (part && part->histogram == "subgroup.s3." + name) put(values, *part, counter.value);
  }
  return values;
}

void pass(Node& node, std::int64_t at_us) {
  node.now = Time(microseconds(at_us));
  static_cast<void>(node.run());
}

}  // namespace

TEST_CASE("a message's time ends here when it was delivered here, and for all when every member says that it has it") {
  const DeliveryMode mode = GENERATE(DeliveryMode::ordered, DeliveryMode::unordered);
  Pair pair({}, mode);
  auto& [sender, receiver] = pair.nodes;
  receiver.closed = SubgroupId(3);
  sender.send(3);
  pass(sender, 100);
  pass(receiver, 0);
  pass(sender, 110);
  CHECK(times(sender, "own_latency_us").count() == (mode == DeliveryMode::ordered ? 0 : 1));
  pass(sender, 130);
  CHECK(times(sender, "own_latency_us").count() == 1);
  CHECK(times(sender, "own_latency_us").sum == (mode == DeliveryMode::ordered ? 30 : 10));
  CHECK(times(sender, "stable_latency_us").count() == 0);
  receiver.closed = SubgroupId(subgroup_count);
  pass(receiver, 0);
  pass(sender, 1100);
  CHECK(times(sender, "stable_latency_us").count() == 1);
  CHECK(times(sender, "stable_latency_us").sum == 1000);
  CHECK(times(receiver, "own_latency_us").count() == 0);
}

TEST_CASE("while a message is watched the others cost nothing, and the next one is watched behind it") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  receiver.closed = SubgroupId(3);
  for (int at = 0; at < 50; ++at) {
    sender.send(3);
    pass(sender, at);
    pass(receiver, 0);
  }
  CHECK(times(sender, "own_latency_us").count() > 10);
  CHECK(times(sender, "stable_latency_us").count() == 0);
  receiver.closed = SubgroupId(subgroup_count);
  pass(receiver, 0);
  pass(sender, 1000);
  CHECK(times(sender, "stable_latency_us").count() == 1);
  CHECK(times(sender, "stable_latency_us").sum == 1000);  // the first that was sent
  sender.send(3);
  pass(sender, 2000);
  pass(receiver, 0);
  pass(sender, 2000);
  pass(receiver, 0);
  pass(sender, 2007);
  CHECK(times(sender, "stable_latency_us").sum == 1007);
}

TEST_CASE("a message that is held back counts from when it was found") {
  Pair pair;
  Node& sender = pair.nodes[0];
  Multicast& multicast = *sender.scheduler.multicast(SubgroupId(3));
  sender.send(3);
  multicast.on_turn(Time(microseconds(5)));
  static_cast<void>(multicast.send_and_receive(0));
  multicast.on_stepped(Time(microseconds(5)));
  pass(sender, 50);
  pass(pair.nodes[1], 0);
  pass(sender, 60);
  pass(sender, 69);
  CHECK(times(sender, "own_latency_us").sum == 64);
}

TEST_CASE("null runs and abandoned messages are not watched") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  sender.send(3);
  for (int at = 0; at < 10; ++at) {
    pass(sender, at);
    pass(receiver, at);
  }
  CHECK(times(receiver, "own_latency_us").count() == 0);
  SendRing& ring = *receiver.scheduler.multicast(SubgroupId(3))->ring();
  ring.abandon(*ring.reserve(8));
  for (int at = 10; at < 20; ++at) {
    pass(receiver, at);
    pass(sender, at);
  }
  CHECK(times(receiver, "own_latency_us").count() == 0);
  CHECK(times(receiver, "stable_latency_us").count() == 0);
}
