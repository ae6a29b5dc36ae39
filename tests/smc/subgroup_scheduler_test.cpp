// Which subgroups a pass looks at (those with news, and before the poller sleeps all of them), and for how long at each.
#include <catch2/catch.hpp>

#include <algorithm>

#include "scheduler_pair.hpp"

using namespace spindrift;
using namespace spindrift::smc;

TEST_CASE("a pass steps the subgroups with news alone") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  sender.send(3);
  REQUIRE(sender.run());
  CHECK(sender.stepped == std::map<std::uint32_t, std::uint32_t>{{3, 1}});
  // Subgroups 0 to 7 share an activity word, and one of them has news.
  REQUIRE(receiver.run());
  CHECK(receiver.stepped == std::map<std::uint32_t, std::uint32_t>{{3, 1}});
  pair.run_until_quiet();
  CHECK(receiver.delivered == std::map<std::uint32_t, std::uint64_t>{{3, 1}});
  CHECK(sender.delivered == receiver.delivered);
}

TEST_CASE("a pass that finds nothing to do has looked at every subgroup") {
  Pair pair;
  pair.run_until_quiet();
  for (std::uint32_t s = 0; s < subgroup_count; ++s) {
    pair.nodes[0].send(s);
    REQUIRE(pair.nodes[0].run());
    CHECK(pair.nodes[0].stepped.contains(s));
    pair.run_until_quiet();
    CHECK(pair.nodes[1].delivered[s] == 1);
  }
}

TEST_CASE("a quiet subgroup is found beside one that is always busy, within the passes that it takes to look at all") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  sender.send(17);
  for (std::uint32_t pass = 0; pass < subgroup_count; ++pass) {
    sender.send(2);
    REQUIRE(sender.run());
    static_cast<void>(receiver.run());
    if (sender.stepped.contains(17)) break;
  }
  CHECK(sender.stepped.contains(17));
}

TEST_CASE("deliveries that wait for the application are found when it takes them") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  receiver.closed = SubgroupId(5);
  sender.send(5);
  pair.run_until_quiet();
  // So many passes that nobody remembers the subgroup.
  for (int pass = 0; pass < 200; ++pass) CHECK_FALSE(receiver.run());
  CHECK(receiver.delivered[5] == 0);
  receiver.closed = SubgroupId(subgroup_count);
  CHECK(receiver.run());
  CHECK(receiver.delivered[5] == 1);
}

TEST_CASE("a subgroup whose peer wrote impossible bytes is told of, pass after pass") {
  Pair pair;
  auto& [honest, faulty] = pair.nodes;
  const std::uint64_t committed = faulty.table.layout(Rank(1)).subgroup(SubgroupId(4))->committed;
  faulty.table.store(committed, std::uint64_t{1} << 40, sst::Table::everybody);
  faulty.table.bump_activity(SubgroupId(4));
  for (int pass = 0; pass < 200; ++pass) {
    static_cast<void>(honest.run());
    std::vector<NodeId> blamed;
    honest.scheduler.for_each_fault([&](const PeerFault& fault) { blamed.push_back(fault.node); });
    REQUIRE(blamed == std::vector{NodeId(1)});
  }
}

TEST_CASE("a look at all steps every subgroup once") {
  Pair pair;
  pair.run_until_quiet();
  pair.nodes[0].scheduler.look_at_all();
  CHECK_FALSE(pair.nodes[0].run());
  CHECK(pair.nodes[0].stepped.size() == subgroup_count);
}

TEST_CASE("a busy subgroup delivers no more in a pass than its turn allows, and another has its turn in the same pass") {
  const DeliveryMode mode = GENERATE(DeliveryMode::ordered, DeliveryMode::unordered);
  Pair pair({.delivery_batch_max = 8, .turn = {.messages = 20}}, mode);
  auto& [sender, receiver] = pair.nodes;
  receiver.closed = SubgroupId(2);
  sender.send(2, 200);
  pair.run_until_quiet();
  receiver.closed = SubgroupId(subgroup_count);
  sender.send(9, 5);
  REQUIRE(sender.run());
  for (std::uint64_t pass = 1; receiver.delivered[2] < 200; ++pass) {
    REQUIRE(receiver.run());
    // The upcall with which the turn is used up is its last.
    REQUIRE(receiver.delivered[2] == std::min<std::uint64_t>(200, pass * 24));
    if (pass == 3) CHECK(receiver.delivered[9] == 5);
    static_cast<void>(sender.run());
  }
}

TEST_CASE("a turn ends as well with the bytes that it may deliver") {
  Pair pair({.delivery_batch_max = 4, .turn = {.bytes = 10 * 16}});
  auto& [sender, receiver] = pair.nodes;
  receiver.closed = SubgroupId(2);
  sender.send(2, 100);
  pair.run_until_quiet();
  receiver.closed = SubgroupId(subgroup_count);
  REQUIRE(receiver.run());
  CHECK(receiver.delivered[2] == 12);
}

TEST_CASE("subgroups that are always busy deliver the same shares") {
  Pair pair({.delivery_batch_max = 8, .turn = {.messages = 16}});
  auto& [sender, receiver] = pair.nodes;
  for (const std::uint32_t s : {1U, 2U, 11U}) sender.send(s);
  pair.run_until_quiet();
  for (const std::uint32_t s : {1U, 2U, 11U}) sender.send(s, 250);
  for (int pass = 0; pass < 10; ++pass) {
    static_cast<void>(sender.run());
    static_cast<void>(receiver.run());
  }
  CHECK(receiver.delivered[1] > 100);
  CHECK(receiver.delivered[1] < 250);
  CHECK(receiver.delivered[2] == receiver.delivered[1]);
  CHECK(receiver.delivered[11] == receiver.delivered[1]);
}

TEST_CASE("in unordered mode the turn after one that ended early begins with the next sender") {
  Pair pair({.delivery_batch_max = 8, .turn = {.messages = 8}}, DeliveryMode::unordered);
  auto& [sender, receiver] = pair.nodes;
  receiver.closed = SubgroupId(2);
  sender.send(2, 100);
  receiver.send(2, 100);
  pair.run_until_quiet();
  receiver.closed = SubgroupId(subgroup_count);
  for (int pass = 0; pass < 10; ++pass) REQUIRE(receiver.run());
  CHECK(receiver.delivered_of[0] == 40);
  CHECK(receiver.delivered_of[1] == 40);
}

TEST_CASE("what others have still to deliver is known in messages and in bytes of the ring") {
  const DeliveryMode mode = GENERATE(DeliveryMode::ordered, DeliveryMode::unordered);
  Pair pair({}, mode);
  auto& [sender, receiver] = pair.nodes;
  Multicast& multicast = *sender.scheduler.multicast(SubgroupId(3));
  sender.send(3, 2);
  pair.run_until_quiet();
  REQUIRE(multicast.lags().size() == 1);
  CHECK(multicast.lags()[0].messages == 0);
  CHECK(multicast.lags()[0].bytes == 0);
  receiver.closed = SubgroupId(3);
  sender.send(3, 5);
  pair.run_until_quiet();
  CHECK(multicast.lags()[0].rank == Rank(1));
  CHECK(multicast.lags()[0].messages == 5);
  CHECK(multicast.lags()[0].bytes == 5 * 24);
  CHECK(receiver.scheduler.multicast(SubgroupId(3))->lags()[0].bytes == 0);
}

TEST_CASE("messages and bytes that were sent are counted without nulls, and how many went at once") {
  Pair pair;
  auto& [sender, receiver] = pair.nodes;
  sender.send(3, 5);
  pair.run_until_quiet();
  sender.send(3);
  pair.run_until_quiet();
  const auto counted = [](const Node& node, const std::string& name) {
    for (const CounterValue& counter : node.counters.values()) {
      if (counter.name == "subgroup.s3." + name) return counter.value;
    }
    return ~std::uint64_t{0};
  };
  CHECK(counted(sender, "sent") == 6);
  CHECK(counted(sender, "sent_bytes") == 6 * 24);
  CHECK(counted(sender, "send_batch_to_8") == 1);
  CHECK(counted(sender, "send_batch_to_1") == 1);
  CHECK(counted(sender, "send_batch_sum") == 6);
  CHECK(counted(receiver, "sent") == 0);
  CHECK(counted(receiver, "null_runs") > 0);
  CHECK(counted(receiver, "send_batch_sum") == 0);
  CHECK(counted(receiver, "delivery_batch_sum") == 6);
}
