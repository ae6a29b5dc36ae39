// The promises of every provider about sleeping: news ends a sleep, and none is lost between looking and sleeping.
#include "../sanitized.hpp"
#include "child.hpp"
#include "harness.hpp"

#include <array>
#include <atomic>
#include <list>
#include <thread>
#include <vector>

#include <spindrift/core/untrusted.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using spindrift::test::rounds_of;

namespace {

/// Two mapped words, one of each side, over which the sides play ping-pong.
struct Table {
  explicit Table(Pair& pair)
      : at_a(value_or_throw(pair.a.fabric->allocate(4096, "a"))), at_b(value_or_throw(pair.b.fabric->allocate(4096, "b"))) {
    value_or_throw(pair.a.fabric->expose(pair.b_at_a, at_a.key, Access::read));
    value_or_throw(pair.b.fabric->expose(pair.a_at_b, at_b.key, Access::read));
    const Event of_a = await(pair.b, Event::Kind::exposed, {&pair.a});
    const Event of_b = await(pair.a, Event::Kind::exposed, {&pair.b});
    a_seen_by_b = value_or_throw(pair.b.fabric->map(pair.a_at_b, of_a.region));
    b_seen_by_a = value_or_throw(pair.a.fabric->map(pair.b_at_a, of_b.region));
  }
  Region at_a;
  Region at_b;
  std::span<const std::byte> a_seen_by_b;
  std::span<const std::byte> b_seen_by_a;
};

/// Sleeps until the word has the value; false if nothing came for so long that a wake-up was lost.
bool sleep_until_word(Endpoint& endpoint, const std::byte* word, std::uint64_t value) {
  const Time limit = now() + hang;
  while (true) {
    endpoint.fabric->prepare_sleep();
    if (load_acquire(word) == value) {
      endpoint.fabric->cancel_sleep();
      return true;
    }
    endpoint.fabric->sleep(limit);
    if (load_acquire(word) == value) return now() < limit;
    if (now() >= limit) return false;
  }
}

/// The sides answer each other, each asleep meanwhile; false if a wake-up was lost.
bool play_ping_pong(Pair& pair, std::uint64_t rounds) {
  const Table table(pair);
  bool a_good = true;
  bool b_good = true;
  std::thread other([&] {
    for (std::uint64_t i = 1; i <= rounds && b_good; ++i) {
      b_good = sleep_until_word(pair.b, table.a_seen_by_b.data(), i);
      store_release(table.at_b.memory.data(), i);
      pair.b.fabric->notify();
    }
  });
  for (std::uint64_t i = 1; i <= rounds && a_good; ++i) {
    store_release(table.at_a.memory.data(), i);
    pair.a.fabric->notify();
    a_good = sleep_until_word(pair.a, table.b_seen_by_a.data(), i);
  }
  other.join();
  return a_good && b_good;
}

}  // namespace

TEST_CASE("notify ends the sleep of a peer that maps a region") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.mappable) return;
  const Table table(pair);
  bool woken = false;
  std::thread sleeper([&] { woken = sleep_until_word(pair.b, table.a_seen_by_b.data(), 1); });
  store_release(table.at_a.memory.data(), 1);
  pair.a.fabric->notify();
  sleeper.join();
  REQUIRE(woken);
}

TEST_CASE("news wakes all sleeping peers, though one is awake, and also who has another peer") {
  const auto provider = GENERATE(from_range(providers()));
  CAPTURE(provider.name);
  Pair pair(provider);  // b is awake, and the first peer of all others
  if (!pair.mappable) return;
  const Region news = value_or_throw(pair.a.fabric->allocate(4096, "news"));
  std::list<Endpoint> sleepers;
  std::vector<const std::byte*> words;
  for (std::uint32_t id = 3; id < 6; ++id) {
    Endpoint& sleeper = sleepers.emplace_back(id, provider.make(NodeId(id), pair.directory.path()));
    sleeper.connect(pair.b);
    await(sleeper, Event::Kind::connected, {&pair.b});
    sleeper.connect(pair.a);
    const PeerId sleeper_at_a = await(pair.a, Event::Kind::connected, {&sleeper}).peer;
    const PeerId a_at_sleeper = await(sleeper, Event::Kind::connected, {&pair.a}).peer;
    value_or_throw(pair.a.fabric->expose(sleeper_at_a, news.key, Access::read));
    const Event exposed = await(sleeper, Event::Kind::exposed, {&pair.a});
    words.push_back(value_or_throw(sleeper.fabric->map(a_at_sleeper, exposed.region)).data());
  }
  constexpr std::uint64_t rounds = 300;
  std::atomic<std::uint64_t> heard = 0;
  std::atomic<bool> woken = true;
  std::vector<std::thread> threads;
  for (Endpoint& sleeper : sleepers) {
    threads.emplace_back([&sleeper, &heard, &woken, word = words[threads.size()]] {
      for (std::uint64_t i = 1; i <= rounds && woken; ++i) {
        if (!sleep_until_word(sleeper, word, i)) woken = false;
        ++heard;
        heard.notify_one();
      }
    });
  }
  for (std::uint64_t i = 1; i <= rounds && woken; ++i) {
    store_release(news.memory.data(), i);
    pair.a.fabric->notify();
    for (std::uint64_t seen = heard.load(); woken && seen < i * threads.size(); seen = heard.load()) heard.wait(seen);
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(woken);
}

TEST_CASE("no wake-up is lost in tens of thousands of rounds of ping-pong between sleepers") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.mappable) return;
  REQUIRE(play_ping_pong(pair, rounds_of(100000)));
}

TEST_CASE("no wake-up is lost in tens of thousands of rounds of ping-pong between processes", "[slow]") {
  const TemporaryDirectory directory;
  Endpoint a(1, make_shm_or_throw(NodeId(1), directory.path()));
  const Child child(directory.path(), "2", "echo");
  const PeerId peer = await(a, Event::Kind::connected).peer;
  const std::byte* const answer = value_or_throw(a.fabric->map(peer, await(a, Event::Kind::exposed).region)).data();
  const Region own = value_or_throw(a.fabric->allocate(4096, "own"));
  value_or_throw(a.fabric->expose(peer, own.key, Access::read));
  for (std::uint64_t i = 1; i <= rounds_of(100000U); ++i) {
    store_release(own.memory.data(), i);
    a.fabric->notify();
    REQUIRE(sleep_until_word(a, answer, i));
  }
}

TEST_CASE("wakes for nothing never cost the wake-up by a peer") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.mappable) return;
  std::atomic<bool> done = false;
  std::thread nuisance([&] {
    while (!done.load()) {
      pair.a.fabric->wake();
      pair.b.fabric->wake();
    }
  });
  const bool complete = play_ping_pong(pair, rounds_of(20000));
  done.store(true);
  nuisance.join();
  REQUIRE(complete);
}

TEST_CASE("a write ends the sleep of its target") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::write));
  const Event exposed = await(pair.b, Event::Kind::exposed, {&pair.a});
  constexpr std::uint64_t rounds = 200;
  std::atomic<std::uint64_t> acknowledged = 0;
  bool woken = true;
  std::thread sleeper([&] {
    for (std::uint64_t i = 1; i <= rounds && woken; ++i) {
      woken = sleep_until_word(pair.a, region.memory.data(), i);
      acknowledged.store(i);
      acknowledged.notify_one();
    }
    acknowledged.store(rounds);
    acknowledged.notify_one();
  });
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    Operation write;
    write.peer = pair.a_at_b;
    write.local = reinterpret_cast<std::byte*>(&i);
    write.bytes = sizeof i;
    write.region = exposed.region;
    write.signaled = true;
    value_or_throw(pair.b.fabric->post({&write, 1}));
    await(pair.b, Event::Kind::completed);
    for (std::uint64_t seen = acknowledged.load(); seen < i; seen = acknowledged.load()) acknowledged.wait(seen);
  }
  sleeper.join();
  REQUIRE(woken);
}

TEST_CASE("wake from any thread ends a sleep, also one that is only about to begin") {
  const auto provider = GENERATE(from_range(providers()));
  const TemporaryDirectory directory;
  Endpoint a(1, provider.make(NodeId(1), directory.path()));
  constexpr std::uint64_t rounds = rounds_of(20000);
  std::atomic<std::uint64_t> asked = 0;
  std::atomic<std::uint64_t> answered = 0;
  std::thread application([&] {
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      asked.store(i);
      a.fabric->wake();
      for (std::uint64_t seen = answered.load(); seen < i; seen = answered.load()) answered.wait(seen);
    }
  });
  const Time limit = now() + hang;
  bool late = false;
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    while (asked.load() < i && !late) {
      a.fabric->prepare_sleep();
      if (asked.load() < i) {
        a.fabric->sleep(limit);
      } else {
        a.fabric->cancel_sleep();
      }
      late = now() > limit;
    }
    answered.store(i);
    answered.notify_one();
  }
  application.join();
  REQUIRE_FALSE(late);
}

TEST_CASE("a sleep ends at its deadline") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  for (const auto wait : {std::chrono::milliseconds(-5), std::chrono::milliseconds(0), std::chrono::milliseconds(5)}) {
    const Time deadline = now() + wait;
    while (now() < deadline) {
      pair.a.fabric->prepare_sleep();
      pair.a.fabric->sleep(deadline);
    }
    REQUIRE(now() >= deadline);
  }
  pair.a.fabric->prepare_sleep();
  pair.a.fabric->sleep(Time{});  // long past: returns
}

TEST_CASE("who has taken all news in sleeps on, whatever came before") {
  const auto provider = GENERATE(from_range(providers()));
  CAPTURE(provider.name);
  Pair pair(provider);
  std::uint64_t word = 1;
  Operation message;
  message.kind = Operation::Kind::send;
  message.peer = pair.a_at_b;
  message.local = reinterpret_cast<std::byte*>(&word);
  message.bytes = sizeof word;
  message.signaled = true;
  value_or_throw(pair.b.fabric->post({&message, 1}));
  await(pair.b, Event::Kind::completed, {&pair.a});
  await(pair.a, Event::Kind::message);
  for (Endpoint* const quiet : {&pair.a, &pair.b}) {
    bool slept = false;
    for (int tries = 0; tries < 100 && !slept; ++tries) {  // a last word of the connection may end some
      std::array<Event, 8> events;
      while (quiet->fabric->poll(events) > 0) {
      }
      const Time deadline = now() + std::chrono::milliseconds(100);
      quiet->fabric->prepare_sleep();
      quiet->fabric->sleep(deadline);
      slept = now() >= deadline;
    }
    CHECK(slept);
  }
}

TEST_CASE("who wakes a sleeping endpoint wakes the peers that wait for its news as well") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.mappable) return;
  const Table table(pair);
  const Time limit = now() + hang;
  pair.a.fabric->prepare_sleep();
  pair.b.fabric->prepare_sleep();
  std::thread sleeper([&] { pair.b.fabric->sleep(limit); });
  pair.a.fabric->wake();
  pair.a.fabric->sleep(limit);
  sleeper.join();
  CHECK(now() < limit);
}
