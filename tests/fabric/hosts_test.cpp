// The promises of every fabric between hosts when the other process dies, falls silent, or is shut out in the middle of a
// write.
#include "child.hpp"
#include "harness.hpp"

#include <signal.h>

#include <cstring>

#include <spindrift/fabric/fabric_name.hpp>
#include <spindrift/fabric/ofi/ofi.hpp>
#include <spindrift/fabric/tcp/tcp.hpp>
#include <spindrift/kernel/provider/vq_fabric.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const std::vector<std::string> fabrics{"tcp", "ofi:tcp", "ofi:net", "vq:tcp", "vq:net"};

std::unique_ptr<Fabric> make(const std::string& name, const TemporaryDirectory& directory, std::uint32_t id,
                             Duration silence_max = seconds(10)) {
  const FabricName parsed = value_or_throw(FabricName::parse(name));
  if (parsed.between_hosts == FabricName::BetweenHosts::vq) {
    return value_or_throw(kernel::make_vq({.self = NodeId(id),
                                           .provider = parsed.provider,
                                           .runtime_directory = directory.path(),
                                           .group_name = "group",
                                           .silence_max = silence_max}));
  }
  if (parsed.between_hosts == FabricName::BetweenHosts::tcp) {
    return value_or_throw(make_tcp({.self = NodeId(id),
                                    .runtime_directory = directory.path(),
                                    .group_name = "group",
                                    .silence_max = silence_max}));
  }
  return value_or_throw(make_ofi({.self = NodeId(id),
                                  .provider = parsed.provider,
                                  .runtime_directory = directory.path(),
                                  .group_name = "group",
                                  .silence_max = silence_max}));
}

/// Node 1, and where node 2 is told to find it.
struct Alone {
  explicit Alone(const std::string& name, Duration silence_max = seconds(10))
      : a(1, make(name, directory, 1, silence_max)),
        words{address_of(NodeId(2)).endpoint, address_of(NodeId(1)).endpoint, name} {}
  TemporaryDirectory directory;
  Endpoint a;
  std::vector<std::string> words;
};

bool all_zero(std::span<const std::byte> memory) {
  return std::all_of(memory.begin(), memory.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::byte seen(std::byte& byte) { return std::atomic_ref(byte).load(std::memory_order_acquire); }

}  // namespace

TEST_CASE("a killed process is reported by its connection, and its next start links again", "[slow]") {
  const auto name = GENERATE(from_range(fabrics));
  CAPTURE(name);
  Alone alone(name);
  for (int round = 0; round < 3; ++round) {
    Child child(alone.directory.path(), "2", "stay", alone.words);
    const PeerId peer = await(alone.a, Event::Kind::connected).peer;
    child.kill(SIGKILL);
    const Event lost = await(alone.a, Event::Kind::lost);
    REQUIRE(lost.peer == peer);
    CHECK_THAT(lost.reason->message(), Catch::StartsWith("node 2: "));
    child.reap();
  }
}

TEST_CASE("what a process said before its death comes before the news of it", "[slow]") {
  const auto name = GENERATE(from_range(fabrics));
  CAPTURE(name);
  Alone alone(name);
  Child child(alone.directory.path(), "2", "speak", alone.words);
  drive({&alone.a}, [&] { return alone.a.count(Event::Kind::lost) == 1; });
  REQUIRE(alone.a.inbox.size() >= 2);
  CHECK(alone.a.inbox.front().kind == Event::Kind::connected);
  CHECK(alone.a.inbox.back().kind == Event::Kind::lost);
  std::vector<std::string> heard;
  for (const Event& event : alone.a.inbox) {
    if (event.kind == Event::Kind::message) heard.push_back(text_of(event));
  }
  const std::vector<std::string> said{"one", "two", "three", "four"};
  REQUIRE(heard.size() <= said.size());  // it killed itself: not all of it may have left
  CHECK(std::equal(heard.begin(), heard.end(), said.begin()));
}

TEST_CASE("a process that is stopped is lost when it has been silent for long enough, not before", "[slow]") {
  const auto name = GENERATE(from_range(fabrics));
  CAPTURE(name);
  constexpr auto silence = milliseconds(400);
  Alone alone(name, silence);
  Child child(alone.directory.path(), "2", "stay", alone.words);
  await(alone.a, Event::Kind::connected);
  child.kill(SIGSTOP);
  const Time stopped = now();
  const Event lost = await(alone.a, Event::Kind::lost);
  CHECK(now() - stopped >= silence / 2);  // its last sign of life was at most a quarter of it ago
  CHECK_THAT(lost.reason->message(), Catch::Contains("nothing came for 400 ms"));
  child.kill(SIGCONT);
}

TEST_CASE("who was disconnected writes nothing any more, though it does not know yet (V11)") {
  const auto name = GENERATE(from_range(fabrics));
  CAPTURE(name);
  Alone alone(name);
  Endpoint b(2, make(name, alone.directory, 2));
  alone.a.connect(b);
  const PeerId b_at_a = await(alone.a, Event::Kind::connected, {&b}).peer;
  const PeerId a_at_b = await(b, Event::Kind::connected, {&alone.a}).peer;
  const Region region = value_or_throw(alone.a.fabric->allocate(4096, "mirror"));
  value_or_throw(alone.a.fabric->expose(b_at_a, region.key, Access::write));
  const Event exposed = await(b, Event::Kind::exposed, {&alone.a});
  std::array<std::byte, 64> local{};
  local.fill(std::byte{7});
  Operation write;
  write.peer = a_at_b;
  write.local = local.data();
  write.bytes = local.size();
  write.region = exposed.region;
  alone.a.fabric->disconnect(b_at_a);
  value_or_throw(b.fabric->post({&write, 1}));  // in the socket before the goodbye is read
  await(b, Event::Kind::lost, {&alone.a});
  alone.a.pump();
  CHECK(all_zero(region.memory));
}

// As a view change does it: the member is shut out, its view's memory is given back, and the next view's is taken.
TEST_CASE("a process that is shut out in the middle of its writes writes nothing to memory of the next view (V11)",
          "[slow]") {
  const auto name = GENERATE(from_range(fabrics));
  CAPTURE(name);
  Alone alone(name);
  Endpoint& a = alone.a;
  for (int round = 0; round < 5; ++round) {
    Child child(alone.directory.path(), "2", "flood", alone.words);
    const PeerId peer = await(a, Event::Kind::connected).peer;
    constexpr std::size_t bytes = 8 << 20;
    const Region old = value_or_throw(a.fabric->allocate(bytes, "mirror of this view"));
    value_or_throw(a.fabric->expose(peer, old.key, Access::write));
    // Somewhere in a write: what has come is not all, now or at the next look.
    drive({&a}, [&] { return seen(old.memory[bytes / 16 * static_cast<std::size_t>(3 * round + 1)]) == std::byte{7}; });
    a.fabric->disconnect(peer);
    a.fabric->release(old.key);
    const Region next = value_or_throw(a.fabric->allocate(bytes, "mirror of the next view"));
    const Region beside = value_or_throw(a.fabric->allocate(bytes, "another"));
    drive({&a}, [&] { return child.ended(); });
    for (int i = 0; i < 100; ++i) a.pump();
    CHECK(all_zero(next.memory));
    CHECK(all_zero(beside.memory));
    a.fabric->release(next.key);
    a.fabric->release(beside.key);
  }
}

TEST_CASE("whoever takes its messages slowly keeps the sender waiting, and does not fill its own memory") {
  constexpr std::size_t messages = 6000;
  constexpr std::size_t waiting_most = 1024 + 512;  // at the receiver, and on their way
  constexpr std::size_t quiet_rounds = 2000;        // after so many without news there will be none
  const auto name = GENERATE(as<std::string>(), "vq:tcp", "vq:net");
  INFO(name);
  TemporaryDirectory directory;
  Endpoint a(1, make(name, directory, 1));
  Endpoint b(2, make(name, directory, 2));
  a.connect(b);
  const PeerId to = await(a, Event::Kind::connected, {&b}).peer;
  await(b, Event::Kind::connected, {&a});
  std::string text(64, 'x');
  Operation operation = send_of(to, text);
  operation.signaled = true;
  for (std::size_t i = 0; i < messages; ++i) value_or_throw(a.fabric->post({&operation, 1}));
  const auto sent = [&] { return a.count(Event::Kind::completed); };
  std::size_t before = 0;
  for (std::size_t quiet = 0; quiet < quiet_rounds; quiet = sent() == before ? quiet + 1 : 0) {
    before = sent();
    a.pump();
    static_cast<void>(b.fabric->poll({}));  // works, and takes nothing
  }
  CHECK(sent() <= waiting_most);
  drive({&a, &b}, [&] { return sent() == messages && b.count(Event::Kind::message) == messages; });
}
