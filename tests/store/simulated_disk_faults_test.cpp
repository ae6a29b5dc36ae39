// The simulated disk has each fault that it is told to have, where it is told to, and none else.
#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "disk_user.hpp"
#include "simulated_disk.hpp"

using namespace spindrift;
using namespace spindrift::sim;
using store::block_bytes;

namespace {

constexpr std::uint64_t always = 1'000'000;

/// A long use with all faults and crashes, as text.
std::string story_of(std::uint64_t seed) {
  DiskFaults faults;
  faults.failed_reads_in_million = faults.failed_writes_in_million = faults.failed_syncs_in_million = 100'000;
  faults.flipped_bits_in_million = faults.misdirected_blocks_in_million = faults.lost_blocks_in_million = 100'000;
  SimulatedDisk disk(seed);
  std::string story;
  put_file_durably(*disk.storage(), "a", "abcd");
  disk.set_faults(faults);
  for (int round = 0; round < 50; ++round) {
    const auto storage = disk.storage();
    const auto file = storage->open("a");
    store::Blocks bytes(4 * block_bytes);
    story += put_blocks(**file, static_cast<std::uint64_t>(round % 3), "xy").ok() ? 'w' : 'W';
    story += put_blocks_durably(**file, 3, "z").ok() ? 'd' : 'D';
    story += (*file)->sync().ok() ? 's' : 'S';
    story += (*file)->read(0, bytes).ok() ? text_of(bytes) : "R";
    if (round % 5 == 4) disk.crash(CrashChoice{});
  }
  return story;
}

}  // namespace

TEST_CASE("each operation can be told to fail, once") {
  using Operation = SimulatedDisk::Operation;
  SimulatedDisk disk = disk_with_file();
  const auto storage = disk.storage();
  const auto file = storage->open("a");
  store::Blocks bytes(block_bytes);
  for (int time = 0; time < 2; ++time) {
    const bool works = time == 1;
    CHECK(storage->names().ok() == true);
    if (!works) {
      for (const Operation operation : {Operation::list, Operation::create, Operation::open, Operation::read,
                                        Operation::rename, Operation::remove, Operation::sync_names})
        disk.fail_next(operation);
    }
    CHECK(storage->names().ok() == works);
    CHECK(storage->create("b", block_bytes).ok() == works);
    CHECK(storage->open("a").ok() == works);
    CHECK((*file)->read(0, bytes).ok() == works);
    CHECK(storage->rename("a", "c").ok() == works);
    CHECK(storage->remove(works ? "c" : "a").ok() == works);
    CHECK(storage->sync_names().ok() == works);
  }
}

TEST_CASE("a write that fails may have written any of its blocks, and a durable one too") {
  for (const bool durably : {false, true}) {
    const auto put = durably ? put_blocks_durably : put_blocks;
    std::set<std::string> texts;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      SimulatedDisk disk = disk_with_file(seed);
      const auto storage = disk.storage();
      disk.fail_next(SimulatedDisk::Operation::write);
      CHECK(put(**storage->open("a"), 0, "xy").error().kind() == ErrorKind::resource);
      texts.insert(text_of(*storage));
      disk.crash(everything_lost);
      CHECK(text_of(*disk.storage()) == "a=abcd");
    }
    CHECK(texts == std::set<std::string>{"a=abcd", "a=xbcd", "a=aycd", "a=xycd"});
  }
}

TEST_CASE("a sync that fails may lose what it was for, and the next one does not bring it back") {
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedDisk disk = disk_with_file(seed);
    const auto storage = disk.storage();
    const auto file = storage->open("a");
    REQUIRE(put_blocks(**file, 0, "xy"));
    disk.fail_next(SimulatedDisk::Operation::sync);
    CHECK((*file)->sync().error().kind() == ErrorKind::resource);
    CHECK((*file)->sync());
    CHECK(text_of(*storage) == "a=xycd");
    disk.crash(everything_kept);
    texts.insert(text_of(*disk.storage()));
  }
  CHECK(texts.contains("a=abcd"));
  CHECK(texts.contains("a=xbcd"));
  CHECK(texts.contains("a=aycd"));
  CHECK(texts.contains("a=xycd"));
}

TEST_CASE("a durable write that fails to be so may lose what was written before it as well") {
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedDisk disk = disk_with_file(seed);
    const auto storage = disk.storage();
    const auto file = storage->open("a");
    REQUIRE(put_blocks(**file, 0, "x"));
    disk.fail_next(SimulatedDisk::Operation::sync);
    CHECK_FALSE(put_blocks_durably(**file, 1, "y"));
    CHECK((*file)->sync());
    disk.crash(everything_kept);
    texts.insert(text_of(*disk.storage()));
  }
  CHECK(texts.contains("a=abcd"));
  CHECK(texts.contains("a=xycd"));
}

TEST_CASE("after a sync of names that failed, those that succeed do nothing") {
  SimulatedDisk disk = disk_with_file();
  const auto storage = disk.storage();
  REQUIRE(storage->rename("a", "b"));
  disk.fail_next(SimulatedDisk::Operation::sync_names);
  CHECK_FALSE(storage->sync_names());
  CHECK(storage->sync_names());
  disk.crash(everything_lost);
  CHECK(text_of(*disk.storage()) == "a=abcd");
  REQUIRE(disk.storage()->rename("a", "b"));
  REQUIRE(disk.storage()->sync_names());
  disk.crash(everything_lost);
  CHECK(text_of(*disk.storage()) == "b=abcd");
}

TEST_CASE("a disk that is full makes no file, and one that has grown does") {
  SimulatedDisk disk = disk_with_file();
  const auto storage = disk.storage();
  disk.set_capacity(6 * block_bytes);
  CHECK(storage->create("b", 3 * block_bytes).error().kind() == ErrorKind::disk_full);
  CHECK(text_of(*storage) == "a=abcd");
  CHECK(storage->create("a", 7 * block_bytes).error().kind() == ErrorKind::disk_full);
  CHECK(storage->create("a", 4 * block_bytes));
  CHECK(storage->create("b", 2 * block_bytes));
  CHECK(storage->create("c", block_bytes).error().kind() == ErrorKind::disk_full);
  disk.set_capacity(7 * block_bytes);
  CHECK(storage->create("c", block_bytes));
  REQUIRE(storage->remove("a"));
  CHECK(storage->create("d", 4 * block_bytes));
  disk.set_capacity(block_bytes);
  CHECK(put_blocks(**storage->open("d"), 0, "xyzv"));
}

TEST_CASE("a planted bit flips for good, and no other") {
  SimulatedDisk disk = disk_with_file();
  const auto storage = disk.storage();
  const store::Blocks before = bytes_of(*storage, "a");
  disk.flip_bit("a", (2 * block_bytes + 7) * 8 + 3);
  for (int time = 0; time < 2; ++time) {
    store::Blocks after = bytes_of(*disk.storage(), "a");
    CHECK((after[2 * block_bytes + 7] ^ before[2 * block_bytes + 7]) == std::byte{8});
    after[2 * block_bytes + 7] ^= std::byte{8};
    CHECK(after == before);
    disk.crash(everything_lost);
  }
}

TEST_CASE("a planted bit flips beneath what is not durable") {
  SimulatedDisk disk = disk_with_file();
  REQUIRE(put_blocks(**disk.storage()->open("a"), 0, "x"));
  disk.flip_bit("a", 5);
  CHECK(text_of(*disk.storage()) == "a=xbcd");
  disk.crash(everything_lost);
  CHECK(text_of(*disk.storage()) == "a=?bcd");
}

TEST_CASE("a planted lost write leaves what was there before, be it durable or not") {
  for (const bool durably : {false, true}) {
    SimulatedDisk disk = disk_with_file();
    const auto put = durably ? put_blocks_durably : put_blocks;
    REQUIRE(put(**disk.storage()->open("a"), 0, "xy"));
    disk.lose_block("a", 1);
    CHECK(text_of(*disk.storage()) == "a=xbcd");
    disk.crash(everything_kept);
    CHECK(text_of(*disk.storage()) == "a=xbcd");
  }
}

TEST_CASE("a planted misdirected write is at the other place, be it durable or not") {
  for (const bool durably : {false, true}) {
    SimulatedDisk disk = disk_with_file();
    const auto put = durably ? put_blocks_durably : put_blocks;
    REQUIRE(put(**disk.storage()->open("a"), 0, "x"));
    disk.misdirect("a", 0, 2);
    CHECK(text_of(*disk.storage()) == "a=abxd");
    disk.crash(everything_kept);
    CHECK(text_of(*disk.storage()) == "a=abxd");
    REQUIRE(put(**disk.storage()->open("a"), 0, "x"));
    disk.misdirect("a", 0, 1);
    disk.crash(everything_lost);
    CHECK(text_of(*disk.storage()) == (durably ? "a=axxd" : "a=abxd"));
  }
}

TEST_CASE("faults are drawn as often as they are told to, and never without") {
  const auto use = [](const DiskFaults& faults) {
    SimulatedDisk disk = disk_with_file();
    disk.set_faults(faults);
    const auto storage = disk.storage();
    const auto file = storage->open("a");
    store::Blocks bytes(4 * block_bytes);
    std::string story = put_blocks(**file, 0, "x") ? "wrote " : "";
    story += put_blocks_durably(**file, 1, "y") ? "durably " : "";
    story += (*file)->sync() && storage->sync_names() ? "synced " : "";
    story += (*file)->read(0, bytes) ? "read " : "";
    disk.set_faults({});
    disk.crash(everything_lost);
    return story + text_of(*disk.storage());
  };
  CHECK(use({}) == "wrote durably synced read a=xycd");
  CHECK(use({.failed_reads_in_million = always}) == "wrote durably synced a=xycd");
  CHECK(use({.failed_writes_in_million = always}).starts_with("synced read "));
  CHECK(use({.failed_syncs_in_million = always}).starts_with("wrote read "));
  CHECK(use({.flipped_bits_in_million = always}).find('?') != std::string::npos);
  CHECK(use({.lost_blocks_in_million = always}) == "wrote durably synced read a=abcd");
  const std::string misdirected = use({.misdirected_blocks_in_million = always});
  CHECK(misdirected.substr(misdirected.find('=') + 1, 1) != "x");
  CHECK(misdirected.find('x') != std::string::npos);
}

TEST_CASE("a write that will be lost is read until it ought to be durable") {
  SimulatedDisk disk = disk_with_file();
  disk.set_faults({.lost_blocks_in_million = always});
  const auto file = disk.storage()->open("a");
  REQUIRE(put_blocks(**file, 0, "x"));
  CHECK(text_of(*disk.storage()) == "a=xbcd");
  SimulatedDisk crashed = disk;
  crashed.crash(everything_kept);
  CHECK(text_of(*crashed.storage()) == "a=abcd");
  REQUIRE((*file)->sync());
  CHECK(text_of(*disk.storage()) == "a=abcd");
}

TEST_CASE("the same seed gives the same disk, and another one another") {
  CHECK(story_of(7) == story_of(7));
  CHECK(story_of(7) != story_of(8));
}
