// Sealed memory: what a peer may not do with a descriptor it was given, and what this process does not accept from a peer.
#include "harness.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <spindrift/fabric/shm/region.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::shm;
using namespace spindrift::fabric::test;

namespace {

FileDescriptor raw_memfd(off_t bytes, int seals) {
  FileDescriptor descriptor(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(descriptor.get(), bytes) == 0);
  REQUIRE(::fcntl(descriptor.get(), F_ADD_SEALS, seals) == 0);
  return descriptor;
}

}  // namespace

TEST_CASE("a region exposed for reading cannot be mapped for writing, nor written, nor resized") {
  auto own = value_or_throw(OwnSegment::create(8192, "row"));
  value_or_throw(own.seal(Access::read));
  REQUIRE(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, own.descriptor(), 0) == MAP_FAILED);
  REQUIRE(::pwrite(own.descriptor(), "x", 1, 0) < 0);
  REQUIRE(::ftruncate(own.descriptor(), 0) != 0);
  REQUIRE(::ftruncate(own.descriptor(), 16384) != 0);
  // Not even by opening it anew.
  const std::string path = "/proc/self/fd/" + std::to_string(own.descriptor());
  const FileDescriptor again(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, again.get(), 0) == MAP_FAILED);
  // And a read-only mapping stays read-only.
  const auto peer = value_or_throw(PeerSegment::open(FileDescriptor(::dup(own.descriptor())), 8192, Access::read));
  REQUIRE(::mprotect(peer.memory().data(), 8192, PROT_READ | PROT_WRITE) != 0);
  own.memory()[5] = std::byte{9};
  REQUIRE(peer.memory()[5] == std::byte{9});
}

TEST_CASE("a region exposed for writing has a sealed size, and a region has one kind of access") {
  auto own = value_or_throw(OwnSegment::create(4096, "mirror"));
  value_or_throw(own.seal(Access::write));
  REQUIRE(::fcntl(own.descriptor(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE) != 0);  // nor may a peer seal more
  REQUIRE(own.seal(Access::write).ok());
  REQUIRE_FALSE(own.seal(Access::read).ok());
  REQUIRE(::ftruncate(own.descriptor(), 0) != 0);
  const auto peer = value_or_throw(PeerSegment::open(FileDescriptor(::dup(own.descriptor())), 4096, Access::write));
  peer.memory()[0] = std::byte{3};
  REQUIRE(own.memory()[0] == std::byte{3});
}

TEST_CASE("memory that its owner could shrink, or of another size than said, or of another kind is not mapped") {
  constexpr int sealed = F_SEAL_SHRINK | F_SEAL_GROW;
  REQUIRE(PeerSegment::open(raw_memfd(4096, sealed), 4096, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(raw_memfd(4096, 0), 4096, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(raw_memfd(4096, F_SEAL_GROW), 4096, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(raw_memfd(4096, sealed), 8192, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(raw_memfd(8192, sealed), 4096, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(raw_memfd(0, sealed), 0, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(raw_memfd(4096, sealed | F_SEAL_FUTURE_WRITE), 4096, Access::write).ok());
  REQUIRE_FALSE(PeerSegment::open(FileDescriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC)), 4096, Access::read).ok());
  REQUIRE_FALSE(PeerSegment::open(FileDescriptor(), 4096, Access::read).ok());
}

TEST_CASE("an exposure to a second peer reaches it, and the same exposure twice is refused") {
  Pair pair({"shm", make_shm_or_throw});
  const Region region = value_or_throw(pair.a.fabric->allocate(4096, "row"));
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, region.key, Access::read));
  REQUIRE_FALSE(pair.a.fabric->expose(pair.b_at_a, region.key, Access::read).ok());
  REQUIRE_FALSE(pair.a.fabric->expose(pair.b_at_a, region.key, Access::write).ok());
  REQUIRE_FALSE(pair.a.fabric->expose(pair.b_at_a, RegionKey(region.key.value() + 1), Access::read).ok());
  Endpoint c(3, make_shm_or_throw(NodeId(3), pair.directory.path()));
  c.connect(pair.a);
  const PeerId c_at_a = await(pair.a, Event::Kind::connected).peer;
  const PeerId a_at_c = await(c, Event::Kind::connected).peer;
  value_or_throw(pair.a.fabric->expose(c_at_a, region.key, Access::read));
  const Event exposed = await(c, Event::Kind::exposed);
  region.memory[1] = std::byte{4};
  REQUIRE(value_or_throw(c.fabric->map(a_at_c, exposed.region))[1] == std::byte{4});
  REQUIRE(value_or_throw(pair.b.fabric->map(pair.a_at_b, await(pair.b, Event::Kind::exposed).region))[1] == std::byte{4});
}

TEST_CASE("a write ends the sleep of its target also when a read is posted behind it") {
  Pair pair({"shm", make_shm_or_throw});
  const Region written = value_or_throw(pair.a.fabric->allocate(4096, "written"));
  const Region read = value_or_throw(pair.a.fabric->allocate(4096, "read"));
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, written.key, Access::write));
  value_or_throw(pair.a.fabric->expose(pair.b_at_a, read.key, Access::read));
  std::array<std::byte, 8> local{};
  std::array<Operation, 2> operations;
  for (Operation& operation : operations) {
    operation.peer = pair.a_at_b;
    operation.local = local.data();
    operation.bytes = local.size();
  }
  operations[0].region = await(pair.b, Event::Kind::exposed).region;
  operations[1].region = await(pair.b, Event::Kind::exposed).region;
  operations[1].kind = Operation::Kind::read;
  const Time limit = now() + hang;
  pair.a.fabric->prepare_sleep();
  value_or_throw(pair.b.fabric->post(operations));
  pair.a.fabric->sleep(limit);
  CHECK(now() < limit);
}
