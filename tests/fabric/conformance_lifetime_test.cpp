// Every provider promises this about regions and connections that end: memory returns, spans live as long as they are
// mapped, and a peer that was disconnected can come again.
#include "../sanitized.hpp"
#include "harness.hpp"

#include <cstring>

#include <spindrift/core/untrusted.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using spindrift::test::rounds_of;

namespace {

/// Unmapping may be done by a thread of the provider, a little later.
void await_held(Pair& pair, const Held& expected) {
  drive({&pair.a, &pair.b}, [&] {
    const Held there = held();
    return there.mappings == expected.mappings && there.descriptors <= expected.descriptors + pair.leisure_descriptors &&
           there.descriptors + pair.leisure_descriptors >= expected.descriptors;
  });
}

Event expose_to_b(Pair& pair, RegionKey region, Access access) {
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region, access));
  return await(pair.b, Event::Kind::exposed, {&pair.a});
}

/// Both link again, as new peers.
void link_again(Pair& pair) {
  const PeerId old_b = pair.b_at_a;
  const PeerId old_a = pair.a_at_b;
  pair.b_at_a = await(pair.a, Event::Kind::connected, {&pair.b}).peer;
  pair.a_at_b = await(pair.b, Event::Kind::connected, {&pair.a}).peer;
  REQUIRE(pair.b_at_a > old_b);
  REQUIRE(pair.a_at_b > old_a);
}

void require_talk(Pair& pair) {
  send(pair.a, pair.b_at_a, "to b");
  send(pair.b, pair.a_at_b, "to a");
  REQUIRE(text_of(await(pair.b, Event::Kind::message, {&pair.a})) == "to b");
  REQUIRE(text_of(await(pair.a, Event::Kind::message, {&pair.b})) == "to a");
  REQUIRE(pair.a.inbox.empty());
  REQUIRE(pair.b.inbox.empty());
}

}  // namespace

TEST_CASE("regions that come and go leave nothing behind, however many") {
  const auto provider = GENERATE(from_range(providers()));
  const bool unmap_first = GENERATE(true, false);
  CAPTURE(provider.name, unmap_first);
  Pair pair(provider);
  const Held before = held();
  const int rounds = pair.mappable ? 4200 : 1100;  // more than one peer may have exposed at a time
  for (int round = 0; round < rounds; ++round) {
    const Region region = value_or_throw(pair.a.fabric->allocate(16384, "row"));
    region.memory[0] = std::byte{1};
    const Event exposed = expose_to_b(pair, region.key, Access::read);
    if (pair.mappable) {
      REQUIRE(value_or_throw(pair.b.fabric->map(pair.a_at_b, exposed.region))[0] == std::byte{1});
    }
    if (unmap_first) pair.b.fabric->unmap(pair.a_at_b, exposed.region);
    pair.a.fabric->release(region.key);
    if (!unmap_first) pair.b.fabric->unmap(pair.a_at_b, exposed.region);
  }
  await_held(pair, before);
  REQUIRE(pair.a.inbox.empty());
  require_talk(pair);
}

TEST_CASE("a released region's key is dead, and others and unknown ones are not touched") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region gone = value_or_throw(pair.a.fabric->allocate(4096, "gone"));
  const Region stays = value_or_throw(pair.a.fabric->allocate(4096, "stays"));
  pair.a.fabric->release(RegionKey(gone.key.value() ^ stays.key.value() ^ 1));
  pair.a.fabric->release(gone.key);
  pair.a.fabric->release(gone.key);
  const auto refused = pair.a.fabric->expose(pair.b_at_a, gone.key, Access::read);
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::bad_argument);
  pair.b.fabric->unmap(pair.a_at_b, gone.key);
  pair.b.fabric->unmap(PeerId(4711), stays.key);
  stays.memory[0] = std::byte{5};
  REQUIRE(expose_to_b(pair, stays.key, Access::read).region == stays.key);
}

TEST_CASE("what a peer mapped stays readable when the region is released, until it is unmapped") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.mappable) return;
  const Held before = held();
  const Region region = value_or_throw(pair.a.fabric->allocate(8192, "row"));
  const Event exposed = expose_to_b(pair, region.key, Access::read);
  const auto mapped = value_or_throw(pair.b.fabric->map(pair.a_at_b, exposed.region));
  store_release(region.memory.data() + 4096, 42);
  pair.a.fabric->release(region.key);
  REQUIRE(read_word(mapped.data() + 4096).equals(42));
  pair.b.fabric->unmap(pair.a_at_b, exposed.region);
  REQUIRE_FALSE(pair.b.fabric->map(pair.a_at_b, exposed.region).ok());
  await_held(pair, before);
}

TEST_CASE("a region that is released while its exposure is under way still arrives, whole") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  // So many that the socket cannot take them at once: some wait in this process.
  constexpr int count = 700;
  for (int i = 0; i < count; ++i) {
    const Region region = value_or_throw(pair.a.fabric->allocate(4096, "brief"));
    region.memory[7] = static_cast<std::byte>(i);
    value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::read));
    pair.a.fabric->release(region.key);
  }
  for (int i = 0; i < count; ++i) {
    const Event exposed = await(pair.b, Event::Kind::exposed, {&pair.a});
    REQUIRE(exposed.region_bytes == 4096);
    if (!pair.mappable) continue;
    const auto mapped = value_or_throw(pair.b.fabric->map(pair.a_at_b, exposed.region));
    REQUIRE(mapped[7] == static_cast<std::byte>(i));
    pair.b.fabric->unmap(pair.a_at_b, exposed.region);
  }
}

TEST_CASE("an exposure behind messages that are under way survives the release of its region") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  for (int round = 0; round < 20; ++round) {
    const Region region = value_or_throw(pair.a.fabric->allocate(4096, "brief"));
    send(pair.a, pair.b_at_a, "before");
    value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::read));
    pair.a.fabric->release(region.key);
    REQUIRE(await(pair.b, Event::Kind::exposed, {&pair.a}).region == region.key);
    REQUIRE(text_of(await(pair.b, Event::Kind::message, {&pair.a})) == "before");
    pair.b.fabric->unmap(pair.a_at_b, region.key);
  }
  require_talk(pair);
}

TEST_CASE("writes to a region that its owner released are lost, and do no harm") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  const Event exposed = expose_to_b(pair, region.key, Access::write);
  pair.a.fabric->release(region.key);
  std::array<std::byte, 64> local{};
  Operation write;
  write.peer = pair.a_at_b;
  write.local = local.data();
  write.bytes = local.size();
  write.region = exposed.region;
  write.signaled = true;
  value_or_throw(pair.b.fabric->post({&write, 1}));
  await(pair.b, Event::Kind::completed, {&pair.a});
  pair.b.fabric->unmap(pair.a_at_b, exposed.region);
  const auto refused = pair.b.fabric->post({&write, 1});
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::bad_argument);
  require_talk(pair);
}

TEST_CASE("operations posted before a region is given back act in full") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region target = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  const Event exposed = expose_to_b(pair, target.key, Access::write);
  const Region source = value_or_throw(pair.b.fabric->allocate(4096, "row"));
  std::memset(source.memory.data(), 9, 4096);
  Operation write;
  write.peer = pair.a_at_b;
  write.local = source.memory.data();
  write.bytes = source.memory.size();
  write.region = exposed.region;
  value_or_throw(pair.b.fabric->post({&write, 1}));
  // More than the interface asks of a provider: a caller that mirrors cannot see when an unsignaled write is done.
  pair.b.fabric->release(source.key);
  pair.b.fabric->unmap(pair.a_at_b, exposed.region);
  drive({&pair.a, &pair.b}, [&] {
    return std::all_of(target.memory.begin(), target.memory.end(), [](std::byte& byte) {
      return std::atomic_ref(byte).load(std::memory_order_acquire) == std::byte{9};
    });
  });
  require_talk(pair);
}

TEST_CASE("a lost peer's regions leave nothing behind, mapped, only exposed or not even looked at") {
  const auto provider = GENERATE(from_range(providers()));
  const bool first_disconnects = GENERATE(true, false);
  CAPTURE(provider.name, first_disconnects);
  Pair pair(provider);
  const Held before = held();
  for (int round = 0; round < rounds_of(50); ++round) {
    const Region mapped = value_or_throw(pair.a.fabric->allocate(8192, "mapped"));
    const Region exposed = value_or_throw(pair.a.fabric->allocate(8192, "exposed"));
    const Region unseen = value_or_throw(pair.a.fabric->allocate(8192, "unseen"));
    mapped.memory[0] = std::byte{3};
    const Event event = expose_to_b(pair, mapped.key, Access::read);
    std::span<const std::byte> span;
    if (pair.mappable) span = value_or_throw(pair.b.fabric->map(pair.a_at_b, event.region));
    expose_to_b(pair, exposed.key, Access::read);
    value_or_throw(pair.a.fabric->expose(pair.b_at_a, unseen.key, Access::read));
    const PeerId old_a = pair.a_at_b;
    if (first_disconnects) {
      pair.a.fabric->disconnect(pair.b_at_a);
      await(pair.b, Event::Kind::lost, {&pair.a});
    } else {
      pair.b.fabric->disconnect(pair.a_at_b);
      await(pair.a, Event::Kind::lost, {&pair.b});
    }
    for (const Region& region : {mapped, exposed, unseen}) pair.a.fabric->release(region.key);
    if (pair.mappable) REQUIRE(span[0] == std::byte{3});
    pair.b.inbox.clear();
    pair.a.connect(pair.b);
    pair.b.connect(pair.a);
    link_again(pair);
    if (pair.mappable) REQUIRE(span[0] == std::byte{3});
    pair.b.fabric->unmap(old_a, event.region);
  }
  await_held(pair, before);
  require_talk(pair);
}

TEST_CASE("two that both disconnect link again when both ask") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  for (int round = 0; round < 20; ++round) {
    pair.a.fabric->disconnect(pair.b_at_a);
    pair.b.fabric->disconnect(pair.a_at_b);
    pair.a.connect(pair.b);
    pair.b.connect(pair.a);
    link_again(pair);
    require_talk(pair);
  }
}

TEST_CASE("a peer that was disconnected may ask itself, and is linked once though both ask again and again") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  for (int round = 0; round < 20; ++round) {
    pair.a.fabric->disconnect(pair.b_at_a);
    REQUIRE(await(pair.b, Event::Kind::lost, {&pair.a}).peer == pair.a_at_b);
    for (int i = 0; i < 3; ++i) pair.b.connect(pair.a);
    for (int i = 0; i < 3; ++i) pair.a.connect(pair.b);
    link_again(pair);
    for (int i = 0; i < 3; ++i) pair.a.connect(pair.b);
    require_talk(pair);
  }
}

TEST_CASE("after a new link nothing is exposed, and what is posted to the old peer is dropped") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  const Event exposed = expose_to_b(pair, region.key, Access::write);
  const PeerId old_a = pair.a_at_b;
  pair.a.fabric->disconnect(pair.b_at_a);
  await(pair.b, Event::Kind::lost, {&pair.a});
  pair.a.connect(pair.b);
  link_again(pair);
  std::array<std::byte, 8> local{std::byte{1}};
  Operation write;
  write.peer = pair.a_at_b;
  write.local = local.data();
  write.bytes = local.size();
  write.region = exposed.region;
  REQUIRE_FALSE(pair.b.fabric->post({&write, 1}).ok());
  write.peer = old_a;
  REQUIRE(pair.b.fabric->post({&write, 1}).ok());
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::write));
  REQUIRE(await(pair.b, Event::Kind::exposed, {&pair.a}).peer == pair.a_at_b);
  require_talk(pair);
  REQUIRE(region.memory[0] == std::byte{0});
}
