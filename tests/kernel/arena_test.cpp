// Memory that is carved out of what was registered once, and what is never carved out again.
#include "pool_fixture.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include <spindrift/kernel/provider/arena.hpp>

using namespace spindrift;
using namespace spindrift::kernel;
using namespace spindrift::kernel::sim;
using vq::RegionArena;
using vq::CopiedBytes;
using vq::CopyStore;

namespace {

std::span<std::byte> taken(RegionArena& arena, std::size_t bytes) {
  auto memory = arena.take(bytes);
  if (!memory) FAIL(memory.error().to_string());
  CHECK(std::all_of(memory->begin(), memory->end(), [](std::byte byte) { return byte == std::byte{0}; }));
  std::fill(memory->begin(), memory->end(), std::byte{1});
  return *memory;
}

CopiedBytes copied(CopyStore& staging, std::span<const std::byte> bytes) {
  auto copy = staging.copy(bytes);
  if (!copy) FAIL(copy.error().to_string());
  return std::move(copy).value();
}

bool apart(std::span<const std::byte> left, std::span<const std::byte> right) {
  return left.data() + left.size() <= right.data() || right.data() + right.size() <= left.data();
}

}  // namespace

TEST_CASE("regions of view after view come out of one registration, zeroed and apart from each other") {
  SimNetwork network(1);
  Node node(network, 0);
  RegionArena arena;
  REQUIRE(arena.register_with(*node.pool).ok());
  const std::byte* first = nullptr;
  for (int view = 0; view < 50; ++view) {
    const auto a = taken(arena, 4096);
    const auto b = taken(arena, 3 * 4096);
    const auto c = taken(arena, 4096);
    CHECK((apart(a, b) && apart(b, c) && apart(a, c)));
    if (view == 0) first = a.data();
    CHECK(a.data() == first);
    CHECK(arena.keys_of(a.data()).local_key == arena.keys_of(c.data() + 4095).local_key);
    for (const auto& memory : view % 2 == 0 ? std::array{a, b, c} : std::array{b, c, a}) arena.give_back(memory, false);
  }
  CHECK(arena.steps() == 1);
}

TEST_CASE("memory that the process has locked is given back like any other") {
  RegionArena arena;
  const auto memory = taken(arena, 4096);
  REQUIRE(::mlock(memory.data(), memory.size()) == 0);
  arena.give_back(memory, false);
  CHECK(taken(arena, 4096).data() == memory.data());
  REQUIRE(::munlock(memory.data(), memory.size()) == 0);
}

TEST_CASE("memory that somebody may still write to is never given out again (V11)") {
  RegionArena arena;
  std::vector<std::span<std::byte>> fenced;
  for (int view = 0; view < 20; ++view) {
    const auto mirror = taken(arena, 8192);
    const auto row = taken(arena, 4096);
    for (const auto& memory : fenced) CHECK((apart(memory, mirror) && apart(memory, row)));
    arena.give_back(mirror, true);
    arena.give_back(row, false);
    mirror[0] = std::byte{7};  // who writes there late does no harm
    fenced.push_back(mirror);
  }
  CHECK(arena.fenced_bytes() == 20 * 8192);
}

TEST_CASE("an arena that is too small grows by a step, and steps do not run into each other") {
  SimNetwork network(1);
  Node node(network, 0);
  RegionArena arena;
  std::vector<std::span<std::byte>> all;
  for (int i = 0; i < 3; ++i) {
    auto memory = arena.take(RegionArena::step_bytes - 4096);
    REQUIRE(memory.ok());
    all.push_back(*memory);
  }
  CHECK(arena.steps() == 3);
  REQUIRE(arena.register_with(*node.pool).ok());
  auto large = arena.take(RegionArena::step_bytes + 1);
  REQUIRE(large.ok());
  CHECK(arena.keys_of(large->data()).local_key != arena.keys_of(all[0].data()).local_key);
  for (const auto& memory : all) arena.give_back(memory, false);
  auto again = arena.take(RegionArena::step_bytes);  // neighbors by chance are still two steps
  REQUIRE(again.ok());
  CHECK(&arena.keys_of(again->data()) == &arena.keys_of(again->data() + again->size() - 1));
}

TEST_CASE("copies keep their bytes until they go, and then their places are used again") {
  RegionArena arena;
  CopyStore staging(arena);
  const std::string text(5000, 'x');
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  const std::byte* place = nullptr;
  for (const std::size_t size : {std::size_t{1}, std::size_t{512}, std::size_t{5000}}) {
    for (int round = 0; round < 3; ++round) {
      CopiedBytes first = copied(staging, {bytes, size});
      const CopiedBytes copy(std::move(first));
      const CopiedBytes other = copied(staging, {bytes, 1});
      CHECK(CopiedBytes().empty());
      CHECK(copy.size() == size);
      CHECK(std::equal(bytes, bytes + size, copy.data()));
      CHECK(copy.data() != other.data());
      if (round == 1) place = copy.data();
      if (round == 2) CHECK((copy.data() == place || other.data() == place));
    }
  }
  CHECK(arena.steps() == 1);
}

TEST_CASE("a process without address space gets an error instead of a copy, and a copy when there is some again") {
  RegionArena arena;
  CopyStore staging(arena);
  const std::array byte{std::byte{9}};
  CHECK_FALSE(system_error("mmap", ENOMEM).to_string().empty());  // what it allocates is there from now on
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_AS, &none) == 0);
  const bool refused = !staging.copy(byte).ok();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(refused);
  CHECK(*copied(staging, byte).data() == byte[0]);
}
