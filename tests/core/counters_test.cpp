// Counters: one word each, readable from another process through a file that is never half made.
#include <catch2/catch.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <spindrift/core/counters.hpp>

namespace {

using namespace spindrift;
namespace fs = std::filesystem;

/// A directory that disappears with the test.
class Directory {
 public:
  Directory() : path_(fs::temp_directory_path() / ("spindrift-counters-" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~Directory() { fs::remove_all(path_); }
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }
  [[nodiscard]] std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Writes `bytes` and expects read_file to refuse them with `reason`.
void check_refused(const std::string& path, const std::string& bytes, const std::string& reason) {
  std::ofstream(path, std::ios::binary) << bytes;
  const auto values = CounterBlock::read_file(path);
  REQUIRE_FALSE(values);
  CHECK(values.error().kind() == ErrorKind::bad_input);
  CHECK(values.error().place() == path);
  CHECK_THAT(values.error().message(), Catch::Contains(reason));
  CHECK_FALSE(values.error().fix().empty());
}

}  // namespace

TEST_CASE("a counter of a name is made once and counts from zero") {
  auto block = CounterBlock::in_memory(4);
  Counter messages = block.counter("messages");
  CHECK(messages.get() == 0);
  messages.add(3);
  block.counter("messages").add(4);
  block.counter("bytes").set(9);
  const auto values = block.values();
  REQUIRE(values.size() == 2);
  CHECK(values[0].name == "messages");
  CHECK(values[0].value == 7);
  CHECK(values[1].name == "bytes");
  CHECK(values[1].value == 9);
}

TEST_CASE("counters stay valid when their block moves") {
  auto first = CounterBlock::in_memory(1);
  Counter counter = first.counter("messages");
  auto second = std::move(first);
  counter.add(5);
  CHECK(second.values().at(0).value == 5);
}

TEST_CASE("a counter without a block counts into nowhere") {
  auto block = CounterBlock::in_memory(1);
  Counter counter;
  counter.add(1);
  CHECK(block.values().empty());
  counter = block.counter("messages");
  CHECK(counter.get() == 0);
}

TEST_CASE("a counters file shows the current values to a reader") {
  const Directory directory;
  const std::string path = directory.file("counters");
  auto block = CounterBlock::in_file(path, 8);
  REQUIRE(block);
  Counter counter = block->counter(std::string(119, 'n'));
  CHECK(CounterBlock::read_file(path)->at(0).value == 0);
  counter.add(~std::uint64_t{0});
  const auto values = CounterBlock::read_file(path);
  REQUIRE(values);
  REQUIRE(values->size() == 1);
  CHECK(values->at(0).name == std::string(119, 'n'));
  CHECK(values->at(0).value == ~std::uint64_t{0});
  CHECK(directory.entries() == 1);
}

TEST_CASE("a counters file replaces an old one and goes with its block") {
  const Directory directory;
  const std::string path = directory.file("counters");
  std::ofstream(path) << "left by a dead process";
  {
    auto block = CounterBlock::in_file(path, 1);
    REQUIRE(block);
    CHECK(CounterBlock::read_file(path)->empty());
  }
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a block does not remove the counters file that replaced its own") {
  const Directory directory;
  const std::string path = directory.file("counters");
  auto newer = CounterBlock::in_memory(1);
  {
    auto older = CounterBlock::in_file(path, 1);
    REQUIRE(older);
    newer = CounterBlock::in_file(path, 1).value();
  }
  CHECK(fs::exists(path));
}

TEST_CASE("a counters file that cannot be made is an error with its path") {
  const auto block = CounterBlock::in_file("/proc/spindrift/counters", 1);
  REQUIRE_FALSE(block);
  CHECK(block.error().kind() == ErrorKind::resource);
  CHECK(block.error().place() == "/proc/spindrift/counters");
  CHECK_FALSE(block.error().fix().empty());
}

TEST_CASE("reading a counters file refuses every broken byte of its structure") {
  const Directory directory;
  std::string good;
  {
    const std::string path = directory.file("counters");
    auto block = CounterBlock::in_file(path, 2).value();
    block.counter("one").add(1);
    good = bytes_of(path);
  }
  const std::string path = directory.file("broken");
  const auto with = [&](std::size_t offset, std::uint64_t word) {
    std::string bytes = good;
    std::memcpy(bytes.data() + offset, &word, sizeof(word));
    return bytes;
  };
  check_refused(path, "", "shorter than its header");
  check_refused(path, good.substr(0, 63), "shorter than its header");
  check_refused(path, good.substr(0, good.size() - 1), "bytes where");
  check_refused(path, good + "x", "bytes where");
  check_refused(path, with(0, 1), "first eight bytes");
  check_refused(path, with(8, 2), "version 2");
  check_refused(path, with(16, ~std::uint64_t{0}), "capacity");
  check_refused(path, with(24, 3), "3 counters in a file for 2");
  check_refused(path, with(24, 2), "entry 1 has no valid name");
  check_refused(path, with(64, 0x20), "entry 0 has no valid name");
  check_refused(path, with(64 + 112, 0x41), "bytes after its name");
  CHECK_FALSE(CounterBlock::read_file(directory.file("")));
  CHECK_FALSE(CounterBlock::read_file(directory.file("absent")));
}
