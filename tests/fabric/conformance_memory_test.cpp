// The promises of every provider about regions and one-sided operations.
#include "harness.hpp"

#include <cstring>
#include <thread>

#include <spindrift/core/untrusted.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

Operation one_sided(Operation::Kind kind, const Event& exposed, PeerId peer, std::span<std::byte> local,
                    std::uint64_t offset) {
  Operation operation;
  operation.kind = kind;
  operation.peer = peer;
  operation.local = local.data();
  operation.bytes = local.size();
  operation.region = exposed.region;
  operation.offset = offset;
  return operation;
}

Event expose(Pair& pair, const Region& region, Access access) {
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, access));
  return await(pair.b, Event::Kind::exposed, {&pair.a});
}

}  // namespace

TEST_CASE("a region is zeroed, page aligned and exactly as large as asked") {
  const auto provider = GENERATE(from_range(providers()));
  const TemporaryDirectory directory;
  Endpoint a(1, provider.make(NodeId(1), directory.path()));
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{5000}, std::size_t{1} << 20U}) {
    const Region region = value_or_throw(a.fabric->allocate(bytes, "region"));
    REQUIRE(region.memory.size() == bytes);
    REQUIRE(reinterpret_cast<std::uintptr_t>(region.memory.data()) % 4096 == 0);
    REQUIRE(std::all_of(region.memory.begin(), region.memory.end(), [](std::byte b) { return b == std::byte{0}; }));
  }
  REQUIRE_FALSE(a.fabric->allocate(0, "nothing").ok());
}

TEST_CASE("a mapped region shows its owner's stores, also after the owner is gone") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.mappable) return;
  const Region region = value_or_throw(pair.a.fabric->allocate(8192, "row"));
  const Event exposed = expose(pair, region, Access::read);
  REQUIRE(exposed.access == Access::read);
  const auto mapped = value_or_throw(pair.b.fabric->map(pair.a_at_b, exposed.region));
  REQUIRE(mapped.size() == 8192);
  store_release(region.memory.data() + 4096, 42);
  REQUIRE(read_word(mapped.data() + 4096).equals(42));
  pair.a.fabric.reset();
  await(pair.b, Event::Kind::lost);
  REQUIRE(read_word(mapped.data() + 4096).equals(42));
  REQUIRE_FALSE(pair.b.fabric->map(pair.a_at_b, exposed.region).ok());
}

TEST_CASE("a write lands where it was aimed, whatever its alignment") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  const Event exposed = expose(pair, region, Access::write);
  std::vector<std::byte> expected(4096);
  std::uint64_t context = 0;
  for (const std::size_t offset : {0U, 1U, 7U, 8U, 63U, 100U, 1000U}) {
    for (const std::size_t bytes : {1U, 2U, 8U, 9U, 64U, 65U, 200U}) {
      std::vector<std::byte> local(bytes, static_cast<std::byte>(++context));
      std::copy(local.begin(), local.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      Operation write = one_sided(Operation::Kind::write, exposed, pair.a_at_b, local, offset);
      write.signaled = true;
      write.context = context;
      value_or_throw(pair.b.fabric->post({&write, 1}));
      REQUIRE(await(pair.b, Event::Kind::completed, {&pair.a}).context == context);
      REQUIRE(std::memcmp(region.memory.data(), expected.data(), expected.size()) == 0);
    }
  }
}

TEST_CASE("a read brings the owner's bytes") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "row"));
  for (std::size_t i = 0; i < 4096; ++i) region.memory[i] = static_cast<std::byte>(i * 7);
  const Event exposed = expose(pair, region, Access::read);
  for (const std::size_t offset : {0U, 3U, 8U, 1001U}) {
    std::vector<std::byte> local(333);
    Operation read = one_sided(Operation::Kind::read, exposed, pair.a_at_b, local, offset);
    read.signaled = true;
    value_or_throw(pair.b.fabric->post({&read, 1}));
    await(pair.b, Event::Kind::completed, {&pair.a});
    REQUIRE(std::memcmp(local.data(), region.memory.data() + offset, local.size()) == 0);
  }
}

TEST_CASE("an operation out of its region fails with its whole list") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  const Event exposed = expose(pair, region, Access::write);
  std::array<std::byte, 64> local;
  local.fill(std::byte{1});
  const Operation good = one_sided(Operation::Kind::write, exposed, pair.a_at_b, local, 0);
  for (const std::uint64_t offset : {std::uint64_t{4033}, std::uint64_t{4097}, ~std::uint64_t{0}, ~std::uint64_t{0} - 63}) {
    const std::array list{good, one_sided(Operation::Kind::write, exposed, pair.a_at_b, local, offset)};
    const auto refused = pair.b.fabric->post(list);
    REQUIRE_FALSE(refused.ok());
    REQUIRE(refused.error().kind() == ErrorKind::bad_argument);
  }
  Event unknown = exposed;
  unknown.region = RegionKey(exposed.region.value() + 1);
  const Operation astray = one_sided(Operation::Kind::write, unknown, pair.a_at_b, local, 0);
  REQUIRE_FALSE(pair.b.fabric->post({&astray, 1}).ok());
  const Operation forbidden = one_sided(Operation::Kind::read, exposed, pair.a_at_b, local, 0);
  REQUIRE_FALSE(pair.b.fabric->post({&forbidden, 1}).ok());
  std::string text(pair.b.fabric->traits().message_bytes_max + 1, 'x');
  const Operation large = send_of(pair.a_at_b, text);
  REQUIRE_FALSE(pair.b.fabric->post({&large, 1}).ok());
  drive({&pair.a, &pair.b}, [&] { return pair.b.pump() == 0; });
  REQUIRE(region.memory[0] == std::byte{0});
}

TEST_CASE("of two writes to one peer the later is visible only after the earlier") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  if (!pair.b.fabric->traits().ordered_writes) return;
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "mirror"));
  const Event exposed = expose(pair, region, Access::write);
  constexpr std::uint64_t rounds = 300;
  constexpr std::size_t words = 64;
  // The writer runs beside the reader: a guard that shows round i must never come before any word of round i.
  std::thread writer([&] {
    std::array<std::uint64_t, words> data{};
    std::uint64_t guard = 0;
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      data.fill(round);
      guard = round;
      std::array list{
          one_sided(Operation::Kind::write, exposed, pair.a_at_b, std::as_writable_bytes(std::span(data)), 64),
          one_sided(Operation::Kind::write, exposed, pair.a_at_b, std::as_writable_bytes(std::span(&guard, 1)), 0)};
      list[1].signaled = true;
      value_or_throw(pair.b.fabric->post(list));
      await(pair.b, Event::Kind::completed);
    }
  });
  std::uint64_t violations = 0;
  for (std::uint64_t seen = 0; seen < rounds;) {
    seen = load_acquire(region.memory.data());
    for (std::size_t i = 0; i < words; ++i) {
      if (load_acquire(region.memory.data() + 64 + 8 * i) < seen) ++violations;
    }
    pair.a.pump();
  }
  writer.join();
  REQUIRE(violations == 0);
}

TEST_CASE("what waits for a peer becomes less until nothing waits, and of others nothing does") {
  const auto provider = GENERATE(from_range(providers()));
  Pair pair(provider);
  constexpr std::size_t bytes = 1 << 20;
  constexpr std::size_t piece = 1 << 14;
  const Region region = value_or_throw(pair.a.fabric->allocate(bytes, "mirror"));
  const Event exposed = expose(pair, region, Access::write);
  const Region source = value_or_throw(pair.b.fabric->allocate(bytes, "row"));
  std::fill(source.memory.begin(), source.memory.end(), std::byte{7});
  std::vector<Operation> list;
  for (std::size_t at = 0; at < bytes; at += piece) {
    list.push_back(one_sided(Operation::Kind::write, exposed, pair.a_at_b, source.memory.subspan(at, piece), at));
  }
  REQUIRE(pair.b.fabric->unsent_bytes(pair.a_at_b) == 0);
  value_or_throw(pair.b.fabric->post(list));
  REQUIRE(pair.b.fabric->unsent_bytes(pair.a_at_b) <= bytes);
  REQUIRE(pair.b.fabric->unsent_bytes(PeerId(pair.a_at_b.value() + 1000)) == 0);
  drive({&pair.a, &pair.b}, [&] { return pair.b.fabric->unsent_bytes(pair.a_at_b) == 0; });
  drive({&pair.a, &pair.b}, [&] { return region.memory.back() == std::byte{7}; });
}

TEST_CASE("a write without bytes completes, also when nothing else is under way") {
  for (const Provider& provider : providers()) {
    DYNAMIC_SECTION(provider.name) {
      Pair pair(provider);
      const Region region = value_or_throw(pair.b.fabric->allocate(4096, "row"));
      value_or_throw(pair.b.fabric->expose(pair.a_at_b, region.key, Access::write));
      await(pair.a, Event::Kind::exposed, {&pair.b});
      std::uint64_t word = 0;
      Operation operation;
      operation.signaled = true;
      operation.peer = pair.b_at_a;
      operation.local = reinterpret_cast<std::byte*>(&word);
      operation.region = region.key;
      operation.context = 7;
      const Time posted = now();
      value_or_throw(pair.a.fabric->post({&operation, 1}));
      CHECK(await(pair.a, Event::Kind::completed, {&pair.b}).context == 7);
      CHECK(now() - posted < std::chrono::seconds(1));  // it was not the next sign of life that pushed it along
    }
  }
}
