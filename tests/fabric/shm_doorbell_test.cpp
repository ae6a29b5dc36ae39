// How a process with many peers sleeps: they ring its doorbell.
#include "harness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <future>
#include <list>
#include <thread>

#include <spindrift/core/untrusted.hpp>
#include <spindrift/fabric/shm/bell.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::shm;
using namespace spindrift::fabric::test;

namespace {

PeerSegment seen(int descriptor, std::size_t bytes, Access access) {
  return value_or_throw(PeerSegment::open(FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)), bytes, access));
}
PeerBell peer_of(const Bell& bell, std::uint32_t node) {
  return PeerBell(seen(bell.descriptor(), bell_bytes, Access::read), NodeId(node));
}

/// A sleeper with so many peers, as these see it, and it them.
struct Crowd {
  explicit Crowd(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      bells.push_back(value_or_throw(Bell::create()));
      peers.push_back(peer_of(bells.back(), static_cast<std::uint32_t>(i + 1)));
    }
    for (const PeerBell& peer : peers) heard.push_back(&peer);
  }
  void have_all_ring() {
    for (PeerBell& peer : peers) peer.set_rings_doorbell();
    sleeper_seen.set_doorbell(seen(sleeper.doorbell_descriptor(), doorbell_bytes, Access::write));
  }
  /// Whether the sleep ends because of what is done meanwhile, long before it would by itself.
  template <class Meanwhile>
  bool wakes(const Meanwhile& meanwhile) {
    sleeper.prepare(heard);
    auto asleep = std::async(std::launch::async, [&] {
      const Time begun = now();
      sleeper.sleep(begun + hang);
      return now() - begun < hang;
    });
    meanwhile();
    return asleep.get();
  }
  void ring(std::size_t which) {
    const PeerBell* const only = &sleeper_seen;
    bells[which].ring(std::span(&only, 1));
  }

  Bell sleeper = value_or_throw(Bell::create());
  PeerBell sleeper_seen = peer_of(sleeper, 0);
  std::deque<Bell> bells;
  std::deque<PeerBell> peers;
  std::vector<const PeerBell*> heard;
};

}  // namespace

TEST_CASE("a process with few peers hears their news, and one with many its doorbell") {
  for (const auto& [count, sleep] :
       {std::pair{doorbells_from - 1, Sleep::hears_news}, std::pair{doorbells_from, Sleep::hears_doorbell}}) {
    Crowd crowd(count);
    CHECK(crowd.sleeper_seen.takes_doorbells());
    CHECK(crowd.sleeper_seen.sleeping() == Sleep::awake);
    crowd.sleeper.prepare(crowd.heard);
    CHECK(crowd.sleeper_seen.sleeping() == sleep);
    crowd.sleeper.cancel();
    CHECK(crowd.sleeper_seen.sleeping() == Sleep::awake);
  }
}

TEST_CASE("each of many peers ends a sleep by the doorbell, also if it rings before that begins") {
  Crowd crowd(peers_max);
  crowd.have_all_ring();
  for (const std::size_t which : {std::size_t{0}, std::size_t{126}, peers_max - 1})
    CHECK(crowd.wakes([&] { crowd.ring(which); }));
  crowd.sleeper.prepare(crowd.heard);
  crowd.ring(200);
  const Time begun = now();
  crowd.sleeper.sleep(begun + hang);
  CHECK(now() - begun < hang);
}

TEST_CASE("a peer that has no doorbell yet, or has not said so, ends a sleep by its news") {
  Crowd crowd(doorbells_from);
  CHECK(crowd.wakes([&] { crowd.ring(3); }));  // it has none
  crowd.sleeper_seen.set_doorbell(seen(crowd.sleeper.doorbell_descriptor(), doorbell_bytes, Access::write));
  CHECK(crowd.wakes([&] { crowd.ring(3); }));  // it has not said so
}

TEST_CASE("a sleeper with more peers without its doorbell than one call waits for looks again soon") {
  Crowd crowd(peers_max);
  CHECK(crowd.wakes([] {}));
}

TEST_CASE("the own wake ends a sleep beside many peers") {
  Crowd crowd(doorbells_from);
  crowd.have_all_ring();
  CHECK(crowd.wakes([&] { crowd.sleeper.wake(); }));
}

TEST_CASE("an endpoint with many peers, each of which has one, hears of all of them in its sleep") {
  TemporaryDirectory directory;
  const auto make = [&](std::uint32_t node) { return make_shm_or_throw(NodeId(node), directory.path()); };
  Endpoint sleeper(0, make(0));
  std::list<Endpoint> others;
  std::vector<Region> rows;
  std::vector<const std::byte*> words;
  for (std::uint32_t node = 1; node <= doorbells_from + 3; ++node) {
    Endpoint& other = others.emplace_back(node, make(node));
    other.connect(sleeper);
    const PeerId sleeper_at_other = await(other, Event::Kind::connected, {&sleeper}).peer;
    const PeerId other_at_sleeper = await(sleeper, Event::Kind::connected, {&other}).peer;
    rows.push_back(value_or_throw(other.fabric->allocate(4096, "row")));
    value_or_throw(other.fabric->expose(sleeper_at_other, rows.back().key, Access::read));
    const Event exposed = await(sleeper, Event::Kind::exposed, {&other});
    words.push_back(value_or_throw(sleeper.fabric->map(other_at_sleeper, exposed.region)).data());
  }
  constexpr std::uint64_t rounds = 20;
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    std::size_t i = 0;
    for (Endpoint& other : others) {
      std::thread rings([&] {
        std::array<Event, 4> none;
        static_cast<void>(other.fabric->poll(none));  // it takes the doorbell that it was shown
        store_release(rows[i].memory.data(), round);
        other.fabric->notify();
      });
      const Time limit = now() + hang;
      while (load_acquire(words[i]) != round && now() < limit) {
        std::array<Event, 4> none;
        static_cast<void>(sleeper.fabric->poll(none));
        sleeper.fabric->prepare_sleep();
        if (load_acquire(words[i]) == round) {
          sleeper.fabric->cancel_sleep();
          break;
        }
        sleeper.fabric->sleep(limit);
      }
      rings.join();
      REQUIRE(now() < limit);
      ++i;
    }
  }
}
