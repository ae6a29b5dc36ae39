// The metadata of a device over rdma-core, byte by byte.
#include <catch2/catch.hpp>

#include <algorithm>

#include <spindrift/kernel/verbs/verbs_name.hpp>

using namespace spindrift::kernel;
using namespace spindrift::kernel::verbs;

namespace {

VerbsName example() {
  VerbsName name;
  name.address = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7};
  name.port = 0x1234;
  name.target = TargetName{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}, 0x5678, 0xabcdef, 0x89abcdef};
  return name;
}

}  // namespace

TEST_CASE("a name with a target, one without and one with a target alone come back as they were") {
  VerbsName name = example();
  CHECK(encode(name)->size == 39);
  CHECK(decode(*encode(name)) == name);
  name.port = 0;
  CHECK(decode(*encode(name)) == name);
  name = example();
  name.target.reset();
  CHECK(encode(name)->size == 24);
  CHECK(decode(*encode(name)) == name);
}

TEST_CASE("a GID takes what it must, and has none where it cannot fit") {
  VerbsName name = example();
  name.target->gid = name.address;
  CHECK(encode(name)->size == 31);
  CHECK(decode(*encode(name)) == name);
  name.target->gid[0] = 0xfc;
  CHECK_FALSE(encode(name));
  name.address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 1, 2, 3};
  CHECK(encode(name)->size == 35);
  CHECK(decode(*encode(name)) == name);
}

TEST_CASE("every byte of a name lies where the header says") {
  const Metadata metadata = *encode(example());
  const std::uint8_t bytes[] = {'V',  1,    3,    2,    0x12, 0x34, 0x56, 0x78,                          // port, LID
                                0xfd, 0,    0,    0,    0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 7,  // address
                                1,    2,    3,    4,    5,    6,    7,    8,                             // GID
                                0xab, 0xcd, 0xef, 0x89, 0xab, 0xcd, 0xef};                               // number, key
  REQUIRE(metadata.size == sizeof bytes);
  for (std::size_t i = 0; i < sizeof bytes; ++i) CHECK(std::to_integer<std::uint8_t>(metadata.bytes[i]) == bytes[i]);
}

TEST_CASE("a name is refused for a size, a form, a class or a number that no device writes") {
  const Metadata good = *encode(example());
  for (const int size : {0, 7, 8, 23, 25, 38, 40, 255}) {
    Metadata bad = good;
    bad.size = static_cast<std::uint8_t>(size);
    CHECK_FALSE(decode(bad));
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      Metadata bad = good;
      bad.bytes[i] ^= std::byte{static_cast<std::uint8_t>(1U << bit)};
      CHECK_FALSE(decode(bad));
    }
  }
  Metadata nobody = good;
  for (std::size_t i = 32; i < 35; ++i) nobody.bytes[i] = std::byte{0};
  CHECK_FALSE(decode(nobody));
  Metadata nowhere = good;
  for (std::size_t i = 8; i < 24; ++i) nowhere.bytes[i] = std::byte{0};
  CHECK_FALSE(decode(nowhere));
  VerbsName unreachable = example();
  unreachable.port = 0;
  unreachable.target.reset();
  CHECK_FALSE(decode(*encode(unreachable)));
}

TEST_CASE("a longer form of a GID than it needs is no device's") {
  Metadata longer = *encode(example());  // link-local, of an address to which it could be equal
  VerbsName same = example();
  same.address = same.target->gid;
  std::copy_n(same.address.begin(), 16, reinterpret_cast<std::uint8_t*>(longer.bytes.data()) + 8);
  CHECK_FALSE(decode(longer));
  CHECK(decode(*encode(same)) == same);
}
