// The simulated fabric keeps the promises of fabric/fabric.hpp, and makes use of what they leave open.
#include <catch2/catch.hpp>

#include <cstring>
#include <functional>

#include "sim_fabric.hpp"

namespace spindrift::sim {
namespace {

using fabric::Access;
using fabric::Event;
using fabric::Operation;

/// Two connected processes; the second exposed `target` to the first.
struct World final : NetworkListener {
  explicit World(std::uint64_t seed, bool mappable = false)
      : network(scheduler, Random(seed, Purpose::fabric), FabricOptions{}, report, *this, {NodeId(7), NodeId(3)}),
        writer(network.endpoint(0)),
        reader(network.endpoint(1)) {
    for (std::uint32_t i = 0; mappable && i < 2; ++i) network.set_host(i, 0);
    REQUIRE(writer.listen({NodeId(7), {}}).ok());
    REQUIRE(reader.listen({NodeId(3), {}}).ok());
    REQUIRE(writer.connect({NodeId(3), {}}).ok());
    run();
    to_reader = take(writer).peer;
    to_writer = take(reader).peer;
    source = writer.allocate(8192, "source").value();
    target = reader.allocate(8192, "target").value();
    REQUIRE(reader.expose(to_writer, target.key, Access::write).ok());
    run();
    REQUIRE(take(writer).kind == Event::Kind::exposed);
  }

  void run() {
    while (!scheduler.empty()) scheduler.run_one();
  }
  static Event take(SimFabric& endpoint) {
    Event event;
    REQUIRE(endpoint.poll(std::span(&event, 1)) == 1);
    return event;
  }
  Operation write(std::uint64_t offset, std::size_t bytes, bool copied = false) {
    Operation operation;
    operation.copied = copied;
    operation.peer = to_reader;
    operation.local = source.memory.data() + offset;
    operation.bytes = bytes;
    operation.region = target.key;
    operation.offset = offset;
    return operation;
  }
  void post(std::initializer_list<Operation> operations) {
    REQUIRE(writer.post(std::span(operations.begin(), operations.size())).ok());
  }

  void on_news(std::uint32_t endpoint) override { ++news[endpoint]; }
  void on_landed(const Write& landed, std::uint64_t offset, std::size_t) override {
    if (look) look(landed, offset);
  }

  Scheduler scheduler;
  Report report;
  std::function<void(const Write&, std::uint64_t)> look;
  std::uint64_t news[4] = {};
  Network network;
  SimFabric& writer;
  SimFabric& reader;
  fabric::PeerId to_reader;
  fabric::PeerId to_writer;
  fabric::Region source;
  fabric::Region target;
};

}  // namespace

TEST_CASE("a later write is visible only after all lines of the earlier one") {
  bool torn = false;
  bool out_of_order = false;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    World world(seed);
    std::memset(world.source.memory.data(), 0xab, 1024);
    std::size_t lines = 0;
    std::uint64_t last = 0;
    world.look = [&](const NetworkListener::Write&, std::uint64_t offset) {
      if (offset >= 4096) {
        CHECK(lines == 1024 / 64 + 1);  // the write starts in the middle of a line
        return;
      }
      torn |= ++lines > 1 && world.target.memory[2 * 64] == std::byte{0};
      out_of_order |= offset < last;
      last = offset;
    };
    world.post({world.write(8, 1024), world.write(4096, 8, true)});
    world.run();
    CHECK(lines == 17);
    CHECK(std::memcmp(world.target.memory.data() + 8, world.source.memory.data() + 8, 1024) == 0);
    CHECK(world.target.memory[0] == std::byte{0});
  }
  CHECK(torn);
  CHECK(out_of_order);
}

TEST_CASE("two that were disconnected link again when one asks, as new peers, with nothing exposed") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    World world(seed);
    world.post({world.write(0, 4096)});
    world.reader.disconnect(world.to_writer);
    REQUIRE(world.reader.connect({NodeId(7), {}}).ok());
    world.run();
    const Event lost = world.take(world.writer);
    CHECK(lost.kind == Event::Kind::lost);
    CHECK(lost.peer == world.to_reader);
    const Event again = world.take(world.writer);
    CHECK(again.kind == Event::Kind::connected);
    CHECK(again.peer > world.to_reader);
    CHECK(world.take(world.reader).peer > world.to_writer);
    const std::uint64_t before = world.news[1];
    world.post({world.write(0, 64)});  // to the old peer
    world.run();
    CHECK(world.news[1] == before);
    Operation forbidden = world.write(0, 64);
    forbidden.peer = again.peer;
    CHECK_FALSE(world.writer.post(std::span(&forbidden, 1)).ok());
    world.reader.disconnect(world.to_writer);  // the old one: nothing happens
    world.run();
    CHECK_FALSE(world.writer.has_events());
  }
}

TEST_CASE("a connection that nobody asks for again stays over") {
  World world(1);
  world.reader.disconnect(world.to_writer);
  world.run();
  CHECK(world.take(world.writer).kind == Event::Kind::lost);
  CHECK_FALSE(world.writer.has_events());
  CHECK_FALSE(world.reader.has_events());
  REQUIRE(world.writer.connect({NodeId(3), {}}).ok());
  REQUIRE(world.writer.connect({NodeId(3), {}}).ok());
  world.run();
  CHECK(world.take(world.writer).kind == Event::Kind::connected);
  CHECK_FALSE(world.writer.has_events());
}

TEST_CASE("a released region takes what is on its way, and a mapping lives until it is unmapped") {
  World world(3, true);
  const auto shown = world.reader.allocate(4096, "shown").value();
  REQUIRE(world.reader.expose(world.to_writer, shown.key, Access::read).ok());
  world.run();
  REQUIRE(world.take(world.writer).kind == Event::Kind::exposed);
  const auto mapped = world.writer.map(world.to_reader, shown.key).value();
  world.post({world.write(0, 4096)});
  world.reader.release(world.target.key);
  shown.memory[9] = std::byte{9};
  world.reader.release(shown.key);
  world.run();
  CHECK(mapped[9] == std::byte{9});
  CHECK_FALSE(world.reader.expose(world.to_writer, shown.key, Access::read).ok());
  CHECK(world.network.row_copy(0, 1) == mapped.data());
  world.writer.unmap(world.to_reader, shown.key);
  CHECK(world.network.row_copy(0, 1) != mapped.data());
}

TEST_CASE("a source that changes before its write is visible is reported, unless it was copied") {
  std::uint64_t reported = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    world.post({world.write(0, 64)});
    world.source.memory[5] = std::byte{1};
    world.run();
    if (world.report.failed()) CHECK(world.report.violation()->invariant == "R6");
    reported += world.report.failed() ? 1 : 0;

    World copied(seed);
    copied.post({copied.write(0, 64, true)});
    copied.source.memory[5] = std::byte{1};
    copied.run();
    CHECK_FALSE(copied.report.failed());
    CHECK(copied.target.memory[5] == std::byte{0});
  }
  CHECK(reported > 0);
}

TEST_CASE("messages arrive in order and a lost connection is the last event") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    World world(seed);
    for (std::byte i{0}; i < std::byte{10}; i = static_cast<std::byte>(static_cast<int>(i) + 1)) {
      Operation operation = world.write(0, 1);
      operation.kind = Operation::Kind::send;
      world.source.memory[0] = i;
      world.post({operation});
    }
    world.network.close(0);
    world.run();
    for (int i = 0; i < 10; ++i) {
      const Event event = World::take(world.reader);
      REQUIRE(event.kind == Event::Kind::message);
      CHECK(static_cast<int>(event.bytes.at(0)) == i);
    }
    const Event last = World::take(world.reader);
    CHECK(last.kind == Event::Kind::lost);
    CHECK(last.reason.has_value());
    CHECK_FALSE(world.reader.has_events());
  }
}

TEST_CASE("a crash lands a prefix of what was posted and perhaps lines of the next write") {
  bool some_landed = false;
  bool some_lost = false;
  bool half_landed = false;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    World world(seed);
    std::memset(world.source.memory.data(), 1, 4096);
    for (std::uint64_t i = 0; i < 8; ++i) world.post({world.write(i * 512, 512)});
    half_landed |= world.network.crash(0);
    world.run();
    bool complete = true;
    for (std::uint64_t i = 0; i < 8; ++i) {
      const std::byte* at = world.target.memory.data() + i * 512;
      const bool whole = std::memcmp(at, world.source.memory.data(), 512) == 0;
      const bool any = std::any_of(at, at + 512, [](std::byte byte) { return byte != std::byte{0}; });
      CHECK((complete || !any));  // behind the first incomplete write there is nothing
      complete = complete && whole;
      some_landed |= whole;
      some_lost |= !any;
    }
    CHECK(World::take(world.reader).kind == Event::Kind::lost);
  }
  CHECK(some_landed);
  CHECK(some_lost);
  CHECK(half_landed);
}

TEST_CASE("a mapped region is the owner's memory and a notification is news to who mapped it") {
  World world(1, true);
  const fabric::Region row = world.reader.allocate(4096, "row").value();
  REQUIRE(world.reader.expose(world.to_writer, row.key, Access::read).ok());
  world.run();
  const Event exposed = World::take(world.writer);
  const auto mapped = world.writer.map(world.to_reader, exposed.region);
  REQUIRE(mapped.ok());
  row.memory[100] = std::byte{9};
  CHECK((*mapped)[100] == std::byte{9});
  const std::uint64_t before = world.news[0];
  world.reader.notify();
  CHECK(world.news[0] == before + 1);
}

TEST_CASE("the simulated fabric refuses what a real one would") {
  World world(1);
  const auto refused = [&](Operation operation) { return !world.writer.post(std::span(&operation, 1)).ok(); };
  CHECK(refused(world.write(8192 - 8, 16)));
  CHECK(refused(world.write(0, 65, true)));
  Operation stranger = world.write(0, 8);
  stranger.region = world.source.key;
  CHECK(refused(stranger));
  CHECK_FALSE(world.writer.map(world.to_reader, world.target.key).ok());
  CHECK_FALSE(refused(world.write(0, 64, true)));
}

TEST_CASE("memory that is exposed before the peer's first message is found (J5)") {
  Scheduler scheduler;
  Report report;
  struct Deaf final : NetworkListener {
    void on_news(std::uint32_t) override {}
  } listener;
  FabricOptions options;
  options.hello_before_memory = true;
  Network network(scheduler, Random(1, Purpose::fabric), options, report, listener, {NodeId(1), NodeId(2)});
  for (std::uint32_t i = 0; i < 2; ++i) REQUIRE(network.endpoint(i).listen({NodeId(i + 1), {}}).ok());
  REQUIRE(network.endpoint(0).connect({NodeId(2), {}}).ok());
  while (!scheduler.empty()) scheduler.run_one();
  const Event connected = World::take(network.endpoint(0));
  const fabric::Region region = network.endpoint(0).allocate(4096, "row").value();
  REQUIRE(network.endpoint(0).expose(connected.peer, region.key, Access::write).ok());
  REQUIRE(report.violation());
  CHECK(report.violation()->invariant == "J5");
}

TEST_CASE("what a disconnected peer posts later lands nowhere, and of what it had posted, a prefix") {
  bool landed = false;
  bool vanished = false;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    World world(seed);
    std::memset(world.source.memory.data(), 1, 1024);
    for (std::uint64_t i = 0; i < 4; ++i) world.post({world.write(i * 64, 64)});
    world.reader.disconnect(world.to_writer);
    world.post({world.write(512, 64)});
    world.run();
    bool complete = true;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const bool here = world.target.memory[i * 64] == std::byte{1};
      CHECK((complete || !here));
      complete = here;
      (here ? landed : vanished) = true;
    }
    CHECK(world.target.memory[512] == std::byte{0});
    CHECK(World::take(world.writer).kind == Event::Kind::lost);
  }
  CHECK(landed);
  CHECK(vanished);
}

TEST_CASE("released memory takes nothing any more, and a stray store into it is found (V11)") {
  World world(3);
  std::memset(world.source.memory.data(), 1, 64);
  world.post({world.write(0, 64)});
  world.reader.release(world.target.key);
  world.run();
  world.network.check_released();
  CHECK_FALSE(world.report.failed());
  world.target.memory[8] = std::byte{7};
  world.network.check_released();
  REQUIRE(world.report.violation());
  CHECK(world.report.violation()->invariant == "V11");
}

TEST_CASE("a released region stays readable for who maps it, until unmapped") {
  World world(1, true);
  const fabric::Region row = world.reader.allocate(4096, "row").value();
  row.memory[0] = std::byte{9};
  REQUIRE(world.reader.expose(world.to_writer, row.key, Access::read).ok());
  world.run();
  const auto mapped = world.writer.map(world.to_reader, World::take(world.writer).region);
  REQUIRE(mapped.ok());
  world.reader.release(row.key);
  CHECK((*mapped)[0] == std::byte{9});
  world.writer.unmap(world.to_reader, row.key);
  CHECK((*mapped)[0] != std::byte{9});
}

TEST_CASE("after a lost connection the next one has a new peer id") {
  World world(1);
  world.reader.disconnect(world.to_writer);
  world.run();
  CHECK(World::take(world.writer).kind == Event::Kind::lost);
  REQUIRE(world.writer.connect({NodeId(3), {}}).ok());
  world.run();
  const Event again = World::take(world.writer);
  CHECK(again.kind == Event::Kind::connected);
  CHECK(again.peer != world.to_reader);
  CHECK(World::take(world.reader).kind == Event::Kind::connected);
}

TEST_CASE("a restarted process is reached by who asked for its id") {
  World world(1);
  world.network.crash(1);
  world.run();
  CHECK(World::take(world.writer).kind == Event::Kind::lost);
  REQUIRE(world.writer.connect({NodeId(3), {}}).ok());
  world.run();
  CHECK_FALSE(world.writer.has_events());
  SimFabric& reborn = world.network.endpoint(world.network.add_endpoint(NodeId(3)));
  REQUIRE(reborn.listen({NodeId(3), {}}).ok());
  world.run();
  CHECK(World::take(world.writer).kind == Event::Kind::connected);
  CHECK(World::take(reborn).kind == Event::Kind::connected);
}

TEST_CASE("a cut stops one direction until it heals, in order") {
  World world(5);
  world.network.cut(NodeId(7), NodeId(3), Cut::writes, std::nullopt);
  std::memset(world.source.memory.data(), 1, 256);
  world.post({world.write(0, 64), world.write(64, 64)});
  Operation hello = world.write(0, 8);
  hello.kind = Operation::Kind::send;
  world.post({hello});
  world.run();
  CHECK(world.target.memory[0] == std::byte{0});
  CHECK(World::take(world.reader).kind == Event::Kind::message);
  world.network.heal(NodeId(7), NodeId(3));
  world.run();
  CHECK(world.target.memory[0] == std::byte{1});
  CHECK(world.target.memory[64] == std::byte{1});
}

TEST_CASE("a cut that lasts breaks the connection for both, and they meet again when it is healed") {
  World world(5);
  world.network.cut(NodeId(7), NodeId(3), Cut::everything, 1'000'000);
  std::memset(world.source.memory.data(), 1, 256);
  world.post({world.write(0, 64)});
  world.run();
  CHECK(world.target.memory[0] == std::byte{0});
  CHECK(World::take(world.reader).kind == Event::Kind::lost);
  CHECK(World::take(world.writer).kind == Event::Kind::lost);
  REQUIRE(world.writer.connect({NodeId(3), {}}).ok());
  world.run();
  CHECK_FALSE(world.writer.has_events());
  world.network.heal(NodeId(7), NodeId(3));
  world.run();
  CHECK(World::take(world.writer).kind == Event::Kind::connected);
  CHECK(World::take(world.reader).kind == Event::Kind::connected);
}

}  // namespace spindrift::sim
