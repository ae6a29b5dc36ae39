// A journal that is read while its owner trims it: which files are still there for the reader.
#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/format.hpp>
#include <spindrift/store/held_storage.hpp>

#include "temporary_directory.hpp"

namespace spindrift::store {
namespace {

/// A directory with so many segments, in each of which its own number stands, and a reader's look at it.
struct Segments {
  explicit Segments(std::uint64_t count) {
    for (std::uint64_t number = 0; number < count; ++number) make(number);
  }
  void make(std::uint64_t number) {
    const auto file = value_or_throw(owner.create(segment_name(number), block_bytes));
    value_or_throw(file->write(0, Blocks(block_bytes, static_cast<std::byte>(number))));
  }
  void trim(std::uint64_t from, std::uint64_t to) {
    for (; from < to; ++from) value_or_throw(owner.remove(segment_name(from)));
  }
  [[nodiscard]] HeldStorage hold() const {
    return HeldStorage(std::make_unique<FileStorage>(value_or_throw(FileStorage::open_to_read(path))));
  }

  TemporaryDirectory around;
  std::string path = around.path() + "/journal";
  FileStorage owner = value_or_throw(FileStorage::open_at(path));
};

/// The numbers of the segments that it names, each of which can be read.
std::vector<std::uint64_t> readable(HeldStorage& held) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& name : value_or_throw(held.names())) {
    const auto number = segment_number(name);
    if (!number) continue;
    Blocks bytes(block_bytes);
    value_or_throw(value_or_throw(held.open(name))->read(0, bytes));
    CHECK(bytes[0] == static_cast<std::byte>(*number));
    numbers.push_back(*number);
  }
  return numbers;
}

std::vector<std::uint64_t> from_to(std::uint64_t from, std::uint64_t to) {
  std::vector<std::uint64_t> numbers;
  for (; from < to; ++from) numbers.push_back(from);
  return numbers;
}

}  // namespace

TEST_CASE("segments that are trimmed away are still there for who held them, and new ones are, too") {
  Segments segments(4);
  HeldStorage held = segments.hold();
  segments.trim(0, 3);
  segments.make(4);
  CHECK(readable(held) == from_to(0, 5));
  HeldStorage later = segments.hold();
  CHECK(readable(later) == from_to(3, 5));
}

TEST_CASE("of many segments those are held that are trimmed first") {
  constexpr std::uint64_t count = HeldStorage::held_max + 6;
  Segments segments(count);
  HeldStorage held = segments.hold();
  segments.trim(0, HeldStorage::held_max + 2);
  std::vector<std::uint64_t> left = from_to(0, HeldStorage::held_max);
  for (std::uint64_t number = HeldStorage::held_max + 2; number < count; ++number) left.push_back(number);
  CHECK(readable(held) == left);
}

TEST_CASE("nothing is held behind a segment that cannot be opened, and its own error says why") {
  Segments segments(2);
  value_or_throw(segments.owner.rename(segment_name(1), segment_name(3)));
  const std::string first = segments.path + "/" + segment_name(0);
  REQUIRE((::unlink(first.c_str()) == 0 && ::mkdir(first.c_str(), 0700) == 0));
  HeldStorage held = segments.hold();
  const auto replaced = held.open(segment_name(0));
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().kind() == ErrorKind::refused);
  CHECK(held.open(segment_name(3)));
}

TEST_CASE("with too few descriptors nothing is held, and what is there can be read one by one") {
  Segments segments(20);
  struct rlimit before {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const FileDescriptor lowest(::dup(STDIN_FILENO));
  struct rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(lowest.get()) + 8;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  HeldStorage held = segments.hold();
  segments.trim(0, 1);
  const std::vector<std::uint64_t> left = readable(held);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(left == from_to(1, 20));
}

}  // namespace spindrift::store
