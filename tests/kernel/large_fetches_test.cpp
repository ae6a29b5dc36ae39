// Reads of large messages, stepped one by one over a simulated device, without the rest of a pool.
#include <catch2/catch.hpp>

#include <spindrift/kernel/large_fetches.hpp>

#include "sim_device.hpp"

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;

namespace {

/// Somebody else's knowledge of peers' memory, as a test wants it.
struct Known final : RemoteMemory {
  Verdict verdict = Verdict::allowed;
  Verdict check(const Metadata&, std::uint64_t, std::uint64_t, std::size_t, fabric::Access) override { return verdict; }
};

struct Fetching {
  explicit Fetching(std::uint32_t pairs_max = 4)
      : pairs(pairs_max, world(), &known, memory, peers, physicals),
        fetches(pairs, peers, pairs_max, std::chrono::seconds(1)) {
    REQUIRE(physicals.open(1));
    auto opened = sender->open();
    REQUIRE(opened);
    reached = std::move(*opened);
    bytes.assign(1000, std::byte{7});
    to.resize(1000);
    const auto there = sender->register_memory(bytes, fabric::Access::read);
    REQUIRE(there);
    message.address = there->remote_base;
    message.key = there->remote_key;
    message.bytes = 1000;
    message.large = 1;
    const auto here = memory.add(to, fabric::Access::read);
    REQUIRE(here);
    keys = *here;
    const auto id = pairs.create(completions, 0, 4);
    REQUIRE(id);
    const auto peer = peers.join(sender->metadata());
    REQUIRE(peer);
    REQUIRE(pairs.bind(*id, *peer, 1, true));
    pair = pairs.find(*id);
  }

  static vq_world world() {
    vq_world world{};
    world.node = 1;
    world.message_bytes_max = 256;
    return world;
  }
  std::optional<std::uint8_t> begin(Time now = Time{}) { return fetches.begin(*pair, message, to, keys, now); }
  void carry_out() {
    network.run();
    PhysicalPair& physical = *physicals.all().front();
    std::array<PhysicalEvent, 8> events;
    const std::size_t count = physical.queue_pair->poll(events);
    for (const PhysicalEvent& event : std::span(events).first(count)) {
      if (event.kind == PhysicalEvent::Kind::completed)
        vq_on_completion(&pairs.core(), &physical.core, event.id, static_cast<std::uint8_t>(event.status));
    }
  }

  SimNetwork network{1};
  std::unique_ptr<SimDevice> sender = network.add();
  std::unique_ptr<SimDevice> receiver = network.add();
  std::unique_ptr<PhysicalQueuePair> reached;  ///< the sender's, by which its memory is read
  std::vector<std::byte> bytes, to;
  Known known;
  PoolMemory memory{*receiver};
  PoolPeers peers{*receiver};
  PhysicalPairs physicals{*receiver, memory};
  CompletionQueue completions{8};
  VirtualPairs pairs;
  LargeFetches fetches;
  vq_message message{};
  MemoryKeys keys;
  VirtualPair* pair = nullptr;
};

using Way = VirtualPair::MessageWay;

}  // namespace

TEST_CASE("a large message is read once, and its pair is told when it is there") {
  Fetching it;
  CHECK_FALSE(it.begin());
  CHECK(it.pair->way == Way::fetching);
  CHECK_FALSE(it.fetches.take());
  it.carry_out();
  const auto fetched = it.fetches.take();
  REQUIRE(fetched);
  CHECK(fetched->pair == it.pair);
  CHECK(fetched->status == VQ_DONE);
  CHECK(it.pair->way == Way::none);
  CHECK((it.to == it.bytes));
  CHECK_FALSE(it.fetches.take());
  CHECK(it.fetches.take_postponed().empty());
}

TEST_CASE("a second large message is read by the same fetching pair") {
  Fetching it;
  CHECK_FALSE(it.begin());
  const PairId fetcher = it.pair->fetcher;
  it.carry_out();
  REQUIRE(it.fetches.take());
  CHECK_FALSE(it.begin());
  CHECK(it.pair->fetcher == fetcher);
  CHECK(it.pairs.size() == 2);
}

TEST_CASE("a large message waits while its sender's memory is asked for, and not for ever") {
  Fetching it;
  it.known.verdict = RemoteMemory::Verdict::unknown;
  const Time start = Time{} + std::chrono::seconds(5);
  CHECK_FALSE(it.begin(start));
  CHECK(it.pair->way == Way::looking_up);
  CHECK(it.fetches.take_postponed() == std::set{it.pair->id});
  CHECK(it.fetches.take_postponed().empty());
  CHECK_FALSE(it.begin(start + std::chrono::milliseconds(900)));  // it waits since it began to
  CHECK(it.fetches.take_postponed().size() == 1);
  CHECK_FALSE(it.fetches.is_overdue(*it.pair, start + std::chrono::seconds(1)));
  CHECK(it.fetches.is_overdue(*it.pair, start + std::chrono::milliseconds(1001)));
  it.known.verdict = RemoteMemory::Verdict::allowed;
  CHECK_FALSE(it.begin(start + std::chrono::seconds(1)));
  CHECK(it.pair->way == Way::fetching);
  CHECK_FALSE(it.fetches.is_overdue(*it.pair, start + std::chrono::seconds(9)));
  CHECK(it.fetches.take_postponed().empty());
}

TEST_CASE("a large message of memory that its sender does not have fails its pair alone, and the next is read by another") {
  Fetching it;
  it.known.verdict = RemoteMemory::Verdict::refused;
  CHECK(it.begin() == VQ_ACCESS_REFUSED);
  CHECK(it.pair->way == Way::none);
  CHECK(it.fetches.take_postponed().empty());
  it.known.verdict = RemoteMemory::Verdict::allowed;
  const PairId first = it.pair->fetcher;
  vq_fail(&it.pairs.core(), first.value(), VQ_PEER_LOST);
  CHECK_FALSE(it.begin());
  CHECK(it.pair->fetcher != first);
  CHECK(it.pairs.is_gone(first));
  CHECK_FALSE(it.pairs.failure(it.pair->id));
}

TEST_CASE("a large message whose own buffer is not registered is the receiver's error") {
  Fetching it;
  it.keys.local_key = 99;
  CHECK(it.begin() == VQ_LOCAL_ERROR);
}

TEST_CASE("a large message waits for a place for its fetching pair") {
  Fetching it(2);
  const auto other = it.pairs.create(it.completions, 0, 0);
  REQUIRE(other);
  CHECK_FALSE(it.begin());
  CHECK(it.pair->way == Way::postponed);
  CHECK(it.fetches.take_postponed() == std::set{it.pair->id});
  it.pairs.close(*other);
  CHECK_FALSE(it.begin());
  CHECK(it.pair->way == Way::fetching);
}

TEST_CASE("the read of a pair that was closed meanwhile is told to nobody") {
  Fetching it;
  CHECK_FALSE(it.begin());
  const PairId id = it.pair->id;
  it.pairs.close(id);
  CHECK_FALSE(it.pairs.is_gone(id));  // its memory is read to
  it.carry_out();
  it.pairs.sweep();
  CHECK(it.pairs.is_gone(id));
  CHECK_FALSE(it.fetches.take());
}
