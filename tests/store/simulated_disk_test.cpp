// The simulated disk keeps each promise of `store/storage.hpp`, and at a crash whatever it may keep.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "disk_user.hpp"
#include "simulated_disk.hpp"

using namespace spindrift;
using namespace spindrift::sim;
using store::block_bytes;

namespace {

/// The texts that crashes by that choice leave, over many seeds, when `act` was done to a disk with a file.
template <class Act>
std::set<std::string> texts_after_crashes(const CrashChoice& choice, Act act) {
  std::set<std::string> texts;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SimulatedDisk disk = disk_with_file(seed);
    const auto storage = disk.storage();
    act(*storage);
    disk.crash(choice);
    texts.insert(text_of(*disk.storage()));
  }
  return texts;
}

}  // namespace

TEST_CASE("a simulated file reads as it was written, and zeros elsewhere") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  const auto file = storage->create("a", 4 * block_bytes);
  REQUIRE(file);
  REQUIRE((*file)->bytes() == 4 * block_bytes);
  REQUIRE(put_blocks(**file, 1, "xy"));
  CHECK(text_of(*storage, "a") == ".xy.");
  REQUIRE(put_blocks_durably(**file, 2, "z"));
  CHECK(text_of(*storage, "a") == ".xz.");
  CHECK(disk.counts().writes == 2);
  CHECK(disk.counts().syncs == 1);
  CHECK(disk.counts().bytes_written == 3 * block_bytes);
  CHECK(disk.counts().reads == 2);
  CHECK(disk.counts().bytes_read == 8 * block_bytes);
}

TEST_CASE("names of a simulated disk are made, listed, changed and taken away") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  put_file(*storage, "b", "x");
  put_file(*storage, "a", "y");
  CHECK(text_of(*storage) == "a=y b=x");
  REQUIRE(storage->rename("a", "b"));
  CHECK(text_of(*storage) == "b=y");
  put_file(*storage, "b", "zz");
  CHECK(text_of(*storage) == "b=zz");
  REQUIRE(storage->remove("b"));
  CHECK(text_of(*storage).empty());
  CHECK(storage->open("b").error().kind() == ErrorKind::bad_input);
  CHECK(storage->remove("b").error().kind() == ErrorKind::resource);
  CHECK(storage->rename("b", "c").error().kind() == ErrorKind::resource);
}

TEST_CASE("a file goes on under its new name") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  const auto file = put_file(*storage, "next", "xy");
  REQUIRE(storage->rename("next", "a"));
  REQUIRE(put_blocks(*file, 1, "z"));
  CHECK(text_of(*storage) == "a=xz");
  CHECK(disk.steps().back().name == "a");
}

TEST_CASE("a crash takes nothing that was synced, by whatever choice") {
  const auto texts = texts_after_crashes({.there_in_100 = 30, .torn_in_100 = 50, .reordered = true}, [](auto& storage) {
    const auto file = put_file(storage, "b", "xy");
    REQUIRE(put_blocks_durably(*file, 0, "z"));
    REQUIRE(file->sync());
    REQUIRE(storage.rename("a", "c"));
    REQUIRE(storage.sync_names());
  });
  CHECK(texts == std::set<std::string>{"b=zy c=abcd"});
}

TEST_CASE("a durable write says nothing of the writes before it") {
  const auto texts = texts_after_crashes({.torn_in_100 = 0}, [](auto& storage) {
    const auto file = storage.open("a");
    REQUIRE(put_blocks(**file, 0, "xy"));
    REQUIRE(put_blocks_durably(**file, 1, "z"));
  });
  CHECK(texts == std::set<std::string>{"a=xzcd", "a=azcd"});
}

TEST_CASE("a crash leaves any of the blocks that were not synced, and of one block any version") {
  const auto texts = texts_after_crashes({.torn_in_100 = 0}, [](auto& storage) {
    const auto file = storage.open("a");
    REQUIRE(put_blocks(**file, 0, "xy"));
    REQUIRE(put_blocks(**file, 0, "z"));
  });
  CHECK(texts == std::set<std::string>{"a=abcd", "a=xbcd", "a=zbcd", "a=aycd", "a=xycd", "a=zycd"});
}

TEST_CASE("a crash keeps or loses everything if it is told to") {
  const auto act = [](store::Storage& storage) {
    REQUIRE(put_blocks(**storage.open("a"), 0, "xyz"));
    put_file(storage, "b", "v");
    REQUIRE(storage.rename("a", "c"));
  };
  CHECK(texts_after_crashes(everything_kept, act) == std::set<std::string>{"b=v c=xyzd"});
  CHECK(texts_after_crashes(everything_lost, act) == std::set<std::string>{"a=abcd"});
}

TEST_CASE("a torn block has sectors of the new and of the old, or garbage") {
  bool mixed = false;
  bool garbage = false;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SimulatedDisk disk = disk_with_file(seed);
    REQUIRE(put_blocks(**disk.storage()->open("a"), 1, "x"));
    disk.crash({.there_in_100 = 100, .torn_in_100 = 100});
    const store::Blocks bytes = bytes_of(*disk.storage(), "a");
    std::set<char> found;
    for (std::size_t at = 0; at < block_bytes; at += sector_bytes) {
      const auto sector = std::span(bytes).subspan(block_bytes + at, sector_bytes);
      const bool even = std::ranges::all_of(sector, [&](std::byte byte) { return byte == sector.front(); });
      found.insert(even ? static_cast<char>(sector.front()) : '?');
    }
    mixed = mixed || found == std::set<char>{'b', 'x'};
    garbage = garbage || found == std::set<char>{'?', 'x'};
    CHECK((found.contains('b') && found.contains('?')) == false);
    CHECK(text_of(bytes).substr(2) == "cd");
  }
  CHECK(mixed);
  CHECK(garbage);
}

TEST_CASE("a torn block of several versions mixes any two of them") {
  std::set<std::string> mixtures;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SimulatedDisk disk = disk_with_file(seed);
    const auto file = disk.storage()->open("a");
    REQUIRE(put_blocks(**file, 0, "x"));
    REQUIRE(put_blocks(**file, 0, "y"));
    disk.crash({.torn_in_100 = 100, .garbage_in_100 = 0});
    const store::Blocks bytes = bytes_of(*disk.storage(), "a");
    std::set<char> found;
    for (std::size_t at = 0; at < block_bytes; at += sector_bytes) found.insert(static_cast<char>(bytes[at]));
    mixtures.insert(std::string(found.begin(), found.end()));
  }
  CHECK(mixtures == std::set<std::string>{"a", "ax", "ay", "xy"});
}

TEST_CASE("a file that was never synced has no bytes behind a crash, or any of its blocks") {
  const auto texts = texts_after_crashes({.torn_in_100 = 0}, [](auto& storage) {
    put_file(storage, "b", "xy");
    REQUIRE(storage.sync_names());
  });
  CHECK(texts == std::set<std::string>{"a=abcd b=", "a=abcd b=..", "a=abcd b=x.", "a=abcd b=.y", "a=abcd b=xy"});
}

TEST_CASE("operations on names are there up to one of them, or in any combination if the disk reorders") {
  const auto act = [](store::Storage& storage) {
    const auto file = put_file(storage, "b", "x");
    REQUIRE(file->sync());
    REQUIRE(storage.rename("b", "c"));
    REQUIRE(storage.remove("a"));
  };
  const std::set<std::string> in_order{"a=abcd", "a=abcd b=x", "a=abcd c=x", "c=x"};
  CHECK(texts_after_crashes({}, act) == in_order);
  std::set<std::string> in_any_order = in_order;
  in_any_order.insert("");
  in_any_order.insert("b=x");
  CHECK(texts_after_crashes({.reordered = true}, act) == in_any_order);
}

TEST_CASE("no operation on a name is there without what it begins from") {
  const auto texts = texts_after_crashes({.reordered = true}, [](auto& storage) {
    REQUIRE(storage.rename("a", "c"));
    REQUIRE(put_file(storage, "a", "x")->sync());
    REQUIRE(storage.rename("a", "b"));
  });
  CHECK(texts == std::set<std::string>{"a=abcd", "c=abcd", "a=x c=abcd", "b=x c=abcd"});
}

TEST_CASE("a file that is made in place of another takes its name away first") {
  const auto texts = texts_after_crashes({}, [](auto& storage) { REQUIRE(put_file(storage, "a", "x")->sync()); });
  CHECK(texts == std::set<std::string>{"a=abcd", "", "a=x"});
}

TEST_CASE("a file that is replaced is whole until the names are synced") {
  const auto texts = texts_after_crashes({}, [](auto& storage) {
    REQUIRE(put_file(storage, "b", "x")->sync());
    REQUIRE(storage.rename("b", "a"));
  });
  CHECK(texts == std::set<std::string>{"a=abcd", "a=abcd b=x", "a=x"});
}

TEST_CASE("a file that is removed is back, with what a crash left of it, until the names are synced") {
  const auto texts = texts_after_crashes({.torn_in_100 = 0}, [](auto& storage) {
    REQUIRE(put_blocks(**storage.open("a"), 0, "x"));
    REQUIRE(storage.remove("a"));
  });
  CHECK(texts == std::set<std::string>{"a=abcd", "a=xbcd", ""});
}

TEST_CASE("a process from before a crash can do nothing any more") {
  SimulatedDisk disk = disk_with_file();
  const auto storage = disk.storage();
  const auto file = storage->open("a");
  disk.crash(everything_kept);
  store::Blocks bytes(block_bytes);
  CHECK_FALSE((*file)->read(0, bytes));
  CHECK_FALSE((*file)->write(0, bytes));
  CHECK_FALSE((*file)->write_durably(0, bytes));
  CHECK_FALSE((*file)->sync());
  CHECK_FALSE(storage->names());
  CHECK_FALSE(storage->create("b", block_bytes));
  CHECK_FALSE(storage->open("a"));
  CHECK_FALSE(storage->rename("a", "b"));
  CHECK_FALSE(storage->remove("a"));
  CHECK_FALSE(storage->sync_names());
  CHECK(text_of(*disk.storage()) == "a=abcd");
}

TEST_CASE("a disk is made anew from its first steps") {
  SimulatedDisk disk(1);
  const auto storage = disk.storage();
  std::vector<std::string> texts{""};
  const auto noted = [&](bool ok) {
    REQUIRE(ok);
    texts.push_back(text_of(*storage));
  };
  const auto file = storage->create("next", 2 * block_bytes);
  noted(file.ok());
  noted(put_blocks(**file, 0, "xy").ok());
  noted((*file)->sync().ok());
  noted(storage->rename("next", "a").ok());
  noted(storage->sync_names().ok());
  noted(put_blocks_durably(**file, 1, "z").ok());
  noted(storage->create("b", block_bytes).ok());
  noted(storage->remove("a").ok());
  REQUIRE(disk.steps().size() + 1 == texts.size());
  for (std::size_t count = 0; count < texts.size(); ++count) {
    SimulatedDisk again = SimulatedDisk::replay(disk.steps().first(count));
    CHECK(text_of(*again.storage()) == texts[count]);
    again.crash(everything_lost);
    CHECK(text_of(*again.storage()) == (count < 5 ? "" : count == 5 ? "a=xy" : "a=xz"));
  }
  CHECK(to_string(disk.steps()[1]) == "write next at 0, 8192 bytes");
  disk.crash(everything_kept);
  CHECK(disk.steps().empty());
}

TEST_CASE("a copy of a disk goes its own way") {
  SimulatedDisk disk = disk_with_file();
  SimulatedDisk copy = disk;
  REQUIRE(put_blocks_durably(**copy.storage()->open("a"), 0, "x"));
  copy.flip_bit("a", block_bytes * 8);
  CHECK(text_of(*disk.storage()) == "a=abcd");
  CHECK(text_of(*copy.storage()) == "a=x?cd");
}
