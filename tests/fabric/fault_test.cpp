// The fault decorator: every fault does what the plan says, when it says so, and the same for the same seed.
#include "../smc/null_fabric.hpp"
#include "harness.hpp"

#include <set>
#include <utility>

#include <spindrift/fabric/fault/fault.hpp>
#include <spindrift/core/untrusted.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using std::chrono::microseconds;

namespace {

class ManualClock final : public Clock {
 public:
  [[nodiscard]] Time now() const noexcept override { return time; }
  Time time = Time(std::chrono::hours(1));
};

/// Node 1 suffers the plan, node 2 is plain and owns a region that node 1 writes.
struct Scene {
  explicit Scene(FaultPlan plan)
      : pair({"faulty", [&](NodeId self, const std::string& directory) {
                auto plain = make_shm_or_throw(self, directory);
                if (self != NodeId(1)) return plain;
                return value_or_throw(make_fault(std::move(plain), std::move(plan), clock));
              }}) {
    target = value_or_throw(pair.b.fabric->allocate(4096, "target"));
    value_or_throw(pair.b.fabric->expose(pair.a_at_b, target.key, Access::write));
    key = await(pair.a, Event::Kind::exposed).region;
  }

  [[nodiscard]] Operation write(std::span<std::byte> from, std::uint64_t offset) const {
    Operation operation;
    operation.peer = pair.b_at_a;
    operation.local = from.data();
    operation.bytes = from.size();
    operation.region = key;
    operation.offset = offset;
    return operation;
  }

  void advance(Duration by) {
    clock.time += by;
    pair.a.pump();
  }

  ManualClock clock;
  Pair pair;
  Region target;
  RegionKey key;
};

constexpr std::size_t line_count = 16;

/// Which lines of a torn write are visible, microsecond by microsecond, until its guard is.
std::vector<unsigned> watch_torn_write(std::uint64_t seed) {
  Scene scene({.seed = seed, .torn_writes = true, .line_gap_max = microseconds(5)});
  std::array<std::byte, line_count * 64> data;
  data.fill(std::byte{1});
  std::array<std::byte, 8> guard{std::byte{1}};
  const std::array list{scene.write(data, 64), scene.write(guard, 0)};
  value_or_throw(scene.pair.a.fabric->post(list));
  std::vector<unsigned> history;
  while (true) {
    unsigned visible = 0;
    for (std::size_t line = 0; line < line_count; ++line) {
      if (scene.target.memory[64 * (line + 1)] == std::byte{1}) visible |= 1U << line;
    }
    history.push_back(visible);
    if (scene.target.memory[0] == std::byte{1}) return history;
    scene.advance(microseconds(1));
  }
}

}  // namespace

TEST_CASE("a fabric that cannot go on says so through its faults") {
  struct Ending final : smc::NullFabric {
    std::size_t poll(std::span<Event> events) override {
      events.front() = {.kind = Event::Kind::ended, .reason = Error(ErrorKind::resource, "no memory is left")};
      return std::exchange(told, true) ? 0 : 1;
    }
    bool told = false;
  };
  ManualClock clock;
  const auto faulty = value_or_throw(make_fault(std::make_unique<Ending>(), FaultPlan{}, clock));
  std::array<Event, 4> events;
  REQUIRE(faulty->poll(events) == 1);
  CHECK(events.front().kind == Event::Kind::ended);
  CHECK(events.front().reason->message() == "no memory is left");
}

TEST_CASE("a delayed write is visible at its time and not before") {
  Scene scene({.delay_min = microseconds(100), .delay_max = microseconds(100)});
  std::array<std::byte, 8> data{std::byte{5}};
  const Operation write = scene.write(data, 0);
  value_or_throw(scene.pair.a.fabric->post({&write, 1}));
  scene.advance(microseconds(99));
  REQUIRE(scene.target.memory[0] == std::byte{0});
  scene.advance(microseconds(1));
  REQUIRE(scene.target.memory[0] == std::byte{5});
}

TEST_CASE("a delayed write takes copied bytes at the post and others when it acts") {
  Scene scene({.delay_min = microseconds(100), .delay_max = microseconds(100)});
  std::array<std::byte, 8> data{std::byte{5}};
  std::array list{scene.write(data, 0), scene.write(data, 64)};
  list[0].copied = true;
  value_or_throw(scene.pair.a.fabric->post(list));
  data[0] = std::byte{6};
  scene.advance(microseconds(100));
  REQUIRE(scene.target.memory[0] == std::byte{5});
  REQUIRE(scene.target.memory[64] == std::byte{6});
}

TEST_CASE("a torn write shows its lines out of order, and the guard behind it only after all of them") {
  bool out_of_order = false;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto history = watch_torn_write(seed);
    REQUIRE(history.back() == (1U << line_count) - 1);
    for (const unsigned visible : history) out_of_order = out_of_order || (visible & (visible + 1)) != 0;
  }
  REQUIRE(out_of_order);
}

TEST_CASE("the same seed gives the same faults, another seed others") {
  REQUIRE(watch_torn_write(7) == watch_torn_write(7));
  REQUIRE(watch_torn_write(7) != watch_torn_write(8));
}

TEST_CASE("operations to one peer keep their order under any delay") {
  Scene scene({.seed = 3, .delay_max = microseconds(50)});
  for (std::uint64_t i = 1; i <= 200; ++i) {
    send(scene.pair.a, scene.pair.b_at_a, std::to_string(i));
    scene.advance(microseconds(3));
  }
  scene.advance(microseconds(50));
  for (std::uint64_t i = 1; i <= 200; ++i) {
    REQUIRE(text_of(await(scene.pair.b, Event::Kind::message)) == std::to_string(i));
  }
}

TEST_CASE("a cut link drops everything in both directions and is reported at both sides after its time") {
  ManualClock reference;
  Scene scene({.losses = {{NodeId(2), reference.time + microseconds(10), microseconds(500)}}});
  scene.advance(microseconds(10));
  send(scene.pair.a, scene.pair.b_at_a, "into the void");
  send(scene.pair.b, scene.pair.a_at_b, "out of the void");
  std::array<std::byte, 8> data{std::byte{5}};
  const Operation write = scene.write(data, 0);
  value_or_throw(scene.pair.a.fabric->post({&write, 1}));
  scene.advance(microseconds(499));
  scene.pair.b.pump();
  REQUIRE(scene.pair.a.inbox.empty());
  REQUIRE(scene.pair.b.inbox.empty());
  scene.advance(microseconds(1));
  REQUIRE(await(scene.pair.a, Event::Kind::lost).peer == scene.pair.b_at_a);
  await(scene.pair.b, Event::Kind::lost);
  REQUIRE(scene.pair.b.inbox.empty());
  REQUIRE(scene.target.memory[0] == std::byte{0});

  scene.pair.a.connect(scene.pair.b);
  const PeerId again = await(scene.pair.a, Event::Kind::connected).peer;
  send(scene.pair.a, again, "healed");
  REQUIRE(text_of(await(scene.pair.b, Event::Kind::message)) == "healed");
}

TEST_CASE("a paused endpoint neither acts nor sees anything until its pause ends") {
  ManualClock reference;
  Scene scene({.pauses = {{reference.time + microseconds(10), reference.time + microseconds(1000)}}});
  scene.advance(microseconds(10));
  send(scene.pair.b, scene.pair.a_at_b, "are you there");
  std::array<std::byte, 8> data{std::byte{5}};
  const Operation write = scene.write(data, 0);
  value_or_throw(scene.pair.a.fabric->post({&write, 1}));
  scene.advance(microseconds(989));
  REQUIRE(scene.pair.a.inbox.empty());
  REQUIRE(scene.target.memory[0] == std::byte{0});
  scene.advance(microseconds(1));
  REQUIRE(scene.target.memory[0] == std::byte{5});
  REQUIRE(text_of(await(scene.pair.a, Event::Kind::message)) == "are you there");
}

TEST_CASE("an early completion comes before its write is visible, and says so in the traits") {
  Scene scene({.delay_min = microseconds(100), .delay_max = microseconds(100), .early_completion = true});
  REQUIRE_FALSE(scene.pair.a.fabric->traits().visible_on_completion);
  std::array<std::byte, 8> data{std::byte{5}};
  Operation write = scene.write(data, 0);
  write.signaled = true;
  write.context = 12;
  value_or_throw(scene.pair.a.fabric->post({&write, 1}));
  REQUIRE(await(scene.pair.a, Event::Kind::completed).context == 12);
  data[0] = std::byte{9};  // the completion allows it
  REQUIRE(scene.target.memory[0] == std::byte{0});
  scene.advance(microseconds(100));
  REQUIRE(scene.target.memory[0] == std::byte{5});
  REQUIRE(scene.pair.a.count(Event::Kind::completed) == 0);
}

TEST_CASE("hidden mappings are refused with the reason") {
  Scene scene({});
  REQUIRE_FALSE(scene.pair.a.fabric->traits().mappable);
  const auto refused = scene.pair.a.fabric->map(scene.pair.b_at_a, scene.key);
  REQUIRE(refused.error().kind() == ErrorKind::unsupported);
}

TEST_CASE("a plan with impossible ranges is refused") {
  const TemporaryDirectory directory;
  const ManualClock clock;
  const auto plan = GENERATE(as<FaultPlan>{}, FaultPlan{.delay_min = microseconds(2), .delay_max = microseconds(1)},
                             FaultPlan{.delay_min = microseconds(-1)}, FaultPlan{.line_gap_max = microseconds(-1)},
                             FaultPlan{.pauses = {{Time(microseconds(2)), Time(microseconds(1))}}},
                             FaultPlan{.losses = {{NodeId(2), Time(), microseconds(-1)}}});
  const auto refused = make_fault(make_shm_or_throw(NodeId(1), directory.path()), plan, clock);
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::bad_argument);
}
