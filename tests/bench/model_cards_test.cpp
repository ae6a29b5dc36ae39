// The modelled cards: what a read takes, whom a queue pair serves, and what KRCore's experiments give over them.
#include <catch2/catch.hpp>

#include <array>
#include <cstring>

#include <spindrift/bench/model/cards.hpp>
#include <spindrift/bench/model/connecting.hpp>

namespace {

using namespace spindrift;
using namespace spindrift::bench::model;
using kernel::PhysicalEvent;
using kernel::PhysicalOperation;
using kernel::Status;

/// Two targets with memory, and one who reads it.
struct Cards {
  Cards() {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      memory[i].fill(static_cast<std::byte>(i + 1));
      keys[i] = value_or_throw(targets[i]->register_memory(memory[i], fabric::Access::read));
      peers[i] = value_or_throw(reader->resolve(targets[i]->metadata()));
    }
  }
  PhysicalOperation read(std::size_t target) {
    PhysicalOperation operation;
    operation.kind = PhysicalOperation::Kind::read;
    operation.signaled = true;
    operation.peer = peers[target];
    operation.id = target;
    operation.local = bytes.data();
    operation.bytes = 8;
    operation.remote_address = keys[target].remote_base + 8;
    operation.remote_key = keys[target].remote_key;
    return operation;
  }
  std::size_t post(const PhysicalOperation& operation) { return queue_pair->post({&operation, 1}); }
  Status take() {
    std::array<PhysicalEvent, 1> event;
    REQUIRE(queue_pair->poll(event) == 1);
    return event[0].status;
  }

  const CardCosts costs;
  CardNetwork network{costs};
  std::unique_ptr<CardDevice> reader = network.add();
  std::array<std::unique_ptr<CardDevice>, 2> targets{network.add(), network.add()};
  std::array<std::array<std::byte, 16>, 2> memory{};
  std::array<kernel::MemoryKeys, 2> keys;
  std::array<kernel::PeerHandle, 2> peers;
  std::array<std::byte, 8> bytes{};
  std::unique_ptr<kernel::PhysicalQueuePair> queue_pair = value_or_throw(reader->open());
};

}  // namespace

TEST_CASE("a read over modelled cards takes the paper's time, and is there no earlier") {
  Cards cards;
  CHECK(cards.post(cards.read(0)) == 1);
  const auto arrival = cards.network.next();
  REQUIRE(arrival);
  CHECK(arrival->device == 0);
  std::array<PhysicalEvent, 1> event;
  cards.reader->now_ns = arrival->at - 1;
  CHECK(cards.queue_pair->poll(event) == 0);
  cards.reader->now_ns = arrival->at;
  CHECK(cards.take() == Status::done);
  CHECK(cards.reader->now_ns == Approx(cards.costs.read_ns + cards.costs.turn_ns));
  CHECK(cards.bytes[0] == std::byte{1});
  CHECK_FALSE(cards.network.next());
}

TEST_CASE("a queue pair waits before it serves another peer, and not for the same") {
  Cards same;
  Cards other;
  for (Cards* cards : {&same, &other}) CHECK(cards->post(cards->read(0)) == 1);
  CHECK(same.post(same.read(0)) == 1);
  CHECK(other.post(other.read(1)) == 1);
  for (Cards* cards : {&same, &other}) static_cast<void>(cards->network.next());
  const Ticks together = same.network.next()->at;
  const Ticks turned = other.network.next()->at;
  CHECK(together < 2 * same.costs.read_ns);
  CHECK(turned > together + same.costs.turn_ns + same.costs.flight_ns / 2);
}

TEST_CASE("modelled cards refuse what real ones do, and lose nothing of a full queue") {
  Cards cards;
  PhysicalOperation beyond = cards.read(0);
  beyond.remote_address += 1;
  PhysicalOperation wrong_key = cards.read(0);
  wrong_key.remote_key += 7;
  PhysicalOperation write = cards.read(0);
  write.kind = PhysicalOperation::Kind::write;
  for (const auto& [operation, status] :
       {std::pair{beyond, Status::access_refused}, {wrong_key, Status::access_refused}, {write, Status::local_error}}) {
    CHECK(cards.post(operation) == 1);
    cards.reader->now_ns = cards.network.next()->at;
    CHECK(cards.take() == status);
  }
  std::size_t posted = 0;
  while (cards.post(cards.read(posted % 2)) == 1) ++posted;
  CHECK(posted == cards.reader->traits().send_depth);
  cards.reader->now_ns += 1e9;
  for (std::size_t i = 0; i < posted; ++i) CHECK(cards.take() == Status::done);
}

TEST_CASE("modelled clients connect with two reads each, the same every time, and never faster than the server's card") {
  const CardCosts costs;
  for (const std::uint32_t clients : {1U, 12U}) {
    const ConnectingOutcome first = run_connecting(costs, clients, 30);
    const ConnectingOutcome second = run_connecting(costs, clients, 30);
    CHECK(first.latency_us == second.latency_us);
    CHECK(first.per_second == second.per_second);
    CHECK(first.reads_each >= 2);
    CHECK(first.reads_each < 2.2);
    CHECK(first.latency_us * 1000 >= costs.connect_call_ns + 2 * costs.read_ns);
    CHECK(first.per_second <= 1e9 / (costs.occupancy_ns(128) + costs.occupancy_ns(64)));
    CHECK(first.per_second == Approx(clients * 1e6 / first.latency_us).epsilon(0.05));
  }
  // A card that answers a read in a microsecond is what they all wait for.
  CardCosts slow = costs;
  slow.operation_ns = 1000;
  CHECK(run_connecting(slow, 12, 30).per_second == Approx(1e9 / 2000).epsilon(0.1));
}

TEST_CASE("one thread that answers gives no more than it can, however many ask") {
  const CardCosts costs;
  CHECK(run_asking(costs, 1).per_second < 1e9 / costs.answer_ns / 5);
  for (const std::uint32_t clients : {20U, 240U}) {
    const ConnectingOutcome outcome = run_asking(costs, clients);
    CHECK(outcome.per_second == Approx(1e9 / costs.answer_ns));
    CHECK(outcome.latency_us == Approx(clients * costs.answer_ns / 1000));
  }
}

TEST_CASE("a modelled mesh takes at least what its workers do for their pairs, and more where each looks up every other") {
  const CardCosts costs;
  const double by_host = run_mesh(costs, 40, 10);
  CHECK(by_host >= 39 * costs.pair_ns / 1000);
  CHECK(by_host < 39 * costs.pair_ns / 1000 + 20);
  CHECK(run_mesh(costs, 40, 40) > by_host);
}

TEST_CASE("a larger modelled pool reads a batch sooner, and one read takes what the paper says") {
  const CardCosts costs;
  CHECK(run_read(costs) == Approx((costs.system_call_ns + costs.read_ns + costs.turn_ns) / 1000));
  double before = 1e9;
  for (const std::uint32_t queue_pairs : {1U, 2U, 4U, 8U}) {
    const double now = run_batch(costs, queue_pairs, 5);
    CHECK(now < before);
    before = now;
  }
}
