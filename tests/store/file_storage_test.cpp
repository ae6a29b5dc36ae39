// Files on a disk: who may have them, what they hold, and what is refused.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <functional>

#include <spindrift/store/file_storage.hpp>

#include "../skip.hpp"
#include "forgetful_fs.hpp"
#include "temporary_directory.hpp"

namespace spindrift::store {
namespace {

using Names = std::vector<std::string>;

/// Whole blocks that are full of one character.
Blocks blocks_of(char character, std::size_t count) {
  return Blocks(count * block_bytes, static_cast<std::byte>(character));
}

/// A file as a text: the first character of each block.
std::string text_of(StoredFile& file) {
  Blocks bytes(file.bytes());
  value_or_throw(file.read(0, bytes));
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += block_bytes) text += static_cast<char>(bytes[at]);
  return text;
}

std::string text_of(Storage& storage, std::string_view name) { return text_of(*value_or_throw(storage.open(name))); }

struct Place {
  [[nodiscard]] FileStorage open() const { return value_or_throw(FileStorage::open_at(path)); }
  [[nodiscard]] std::string file(const std::string& name) const { return path + "/" + name; }
  TemporaryDirectory around;
  std::string path = around.path() + "/journal";
};

template <class T>
Error error_of(Result<T> result) {
  REQUIRE_FALSE(result);
  return std::move(result).error();
}

/// Whether the call ends its process, a child of this one, by a failed CHECK.
bool fails_check(const std::function<void()>& call) {
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(::freopen("/dev/null", "w", stderr));
    ::signal(SIGABRT, SIG_DFL);  // not Catch2's, which would report a failed test
    call();
    ::_exit(0);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

TEST_CASE("a journal's directory is made for this user alone, and is there the next time") {
  const Place place;
  { CHECK(value_or_throw(place.open().names()).empty()); }
  struct stat status {};
  REQUIRE(::stat(place.path.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
  CHECK(value_or_throw(place.open().names()).empty());
  CHECK(error_of(FileStorage::open_at(place.path + "/no/where")).kind() == ErrorKind::resource);
}

TEST_CASE("a file on a disk has its size, and holds what was written into it") {
  const Place place;
  {
    FileStorage storage = place.open();
    const auto file = value_or_throw(storage.create("a", 4 * block_bytes));
    CHECK(file->bytes() == 4 * block_bytes);
    CHECK(text_of(*file) == std::string(4, '\0'));
    value_or_throw(file->write(0, blocks_of('x', 2)));
    value_or_throw(file->write_durably(block_bytes, blocks_of('y', 1)));
    CHECK(text_of(*file) == std::string("xy\0\0", 4));
    value_or_throw(file->sync());
    value_or_throw(storage.sync_names());
  }
  struct stat status {};
  REQUIRE(::stat(place.file("a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0600U);
  CHECK(status.st_blocks * 512 >= static_cast<blkcnt_t>(4 * block_bytes));
  FileStorage storage = place.open();
  CHECK(text_of(storage, "a") == std::string("xy\0\0", 4));
  CHECK(text_of(*value_or_throw(storage.create("a", block_bytes))) == std::string(1, '\0'));
}

TEST_CASE("a file on a disk is renamed, replaces another, and is removed") {
  const Place place;
  FileStorage storage = place.open();
  value_or_throw(value_or_throw(storage.create("a", block_bytes))->write(0, blocks_of('a', 1)));
  value_or_throw(value_or_throw(storage.create("b", block_bytes))->write(0, blocks_of('b', 1)));
  value_or_throw(storage.rename("a", "b"));
  CHECK(value_or_throw(storage.names()) == Names{"b"});
  CHECK(text_of(storage, "b") == "a");
  value_or_throw(storage.remove("b"));
  value_or_throw(storage.sync_names());
  CHECK(value_or_throw(storage.names()).empty());
  CHECK(error_of(storage.remove("b")).kind() == ErrorKind::resource);
  CHECK(error_of(storage.rename("b", "c")).place() == place.file("b"));
}

TEST_CASE("the names are sorted, without the lock's, and what stands in the place of a file is among them") {
  const Place place;
  FileStorage storage = place.open();
  for (const char* name : {"b", "0000000000000002.segment", "a-1", "a", "0000000000000001.segment"})
    value_or_throw(storage.create(name, block_bytes));
  REQUIRE(::mkdir(place.file("directory").c_str(), 0700) == 0);
  REQUIRE(::symlink("a", place.file("link").c_str()) == 0);
  std::ofstream(place.file("Notes")) << "somebody's";
  CHECK(value_or_throw(storage.names()) ==
        Names{"0000000000000001.segment", "0000000000000002.segment", "a", "a-1", "b", "directory", "link"});
}

TEST_CASE("a second opener of a journal is refused, in this process and in another") {
  const Place place;
  {
    const FileStorage storage = place.open();
    const Error error = error_of(FileStorage::open_at(place.path));
    CHECK(error.kind() == ErrorKind::refused);
    CHECK(error.place() == place.file("lock"));
    CHECK_FALSE(error.fix().empty());
    const pid_t child = ::fork();
    if (child == 0) {
      const auto again = FileStorage::open_at(place.path);
      ::_exit(!again && again.error().kind() == ErrorKind::refused ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(FileStorage::open_at(place.path));
}

TEST_CASE("a child that was forked keeps no lock on a journal") {
  const Place place;
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  char byte = 0;
  pid_t child = 0;
  {
    const FileStorage storage = place.open();
    child = ::fork();
    if (child == 0) {
      ::close(ends[1]);
      const bool told = ::write(ends[0], &byte, 1) == 1;
      ::_exit(told && ::read(ends[0], &byte, 1) == 0 ? 0 : 1);  // when the parent closes its end
    }
    CHECK(::read(ends[1], &byte, 1) == 1);
  }
  CHECK(FileStorage::open_at(place.path));
  ::close(ends[1]);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  ::close(ends[0]);
}

TEST_CASE("a journal can be looked at while a process has it, and not changed") {
  const Place place;
  CHECK(error_of(FileStorage::open_to_read(place.path)).kind() == ErrorKind::resource);
  FileStorage writer = place.open();
  const auto file = value_or_throw(writer.create("a", block_bytes));
  FileStorage reader = value_or_throw(FileStorage::open_to_read(place.path));
  CHECK(value_or_throw(reader.names()) == Names{"a"});
  const auto seen = value_or_throw(reader.open("a"));
  value_or_throw(file->write_durably(0, blocks_of('x', 1)));
  CHECK(text_of(*seen) == "x");
  value_or_throw(file->write(0, blocks_of('y', 1)));
  CHECK(text_of(*seen) == "y");
  value_or_throw(file->sync());
  const Blocks block = blocks_of('z', 1);
  CHECK(fails_check([&] { static_cast<void>(reader.create("b", block_bytes)); }));
  CHECK(fails_check([&] { static_cast<void>(reader.rename("a", "b")); }));
  CHECK(fails_check([&] { static_cast<void>(reader.remove("a")); }));
  CHECK(fails_check([&] { static_cast<void>(reader.sync_names()); }));
  CHECK(fails_check([&] { static_cast<void>(seen->write(0, block)); }));
  CHECK(fails_check([&] { static_cast<void>(seen->write_durably(0, block)); }));
  CHECK(fails_check([&] { static_cast<void>(seen->sync()); }));
  CHECK(text_of(writer, "a") == "y");
}

TEST_CASE("a call for part of a block, for what lies behind a file, or for no name of a file fails a check") {
  const Place place;
  FileStorage storage = place.open();
  const auto file = value_or_throw(storage.create("a", 2 * block_bytes));
  Blocks memory = blocks_of('x', 3);
  const std::span<std::byte> all(memory);
  CHECK_FALSE(fails_check([&] { static_cast<void>(file->write(block_bytes, all.first(block_bytes))); }));
  CHECK(fails_check([&] { static_cast<void>(file->write(1, all.first(block_bytes))); }));
  CHECK(fails_check([&] { static_cast<void>(file->write(0, all.first(100))); }));
  CHECK(fails_check([&] { static_cast<void>(file->write_durably(0, all.subspan(8, block_bytes))); }));
  CHECK(fails_check([&] { static_cast<void>(file->read(0, all)); }));
  CHECK(fails_check([&] { static_cast<void>(file->read(3 * block_bytes, all.first(0))); }));
  CHECK(fails_check([&] { static_cast<void>(storage.create("b", 100)); }));
  for (const std::string name : {"", "lock", "..", "A", "a/b", "a_b"})
    CHECK(fails_check([&] { static_cast<void>(storage.create(name, block_bytes)); }));
  CHECK(fails_check([&] { static_cast<void>(storage.open(std::string(65, 'a'))); }));
}

TEST_CASE("a file that is missing is bad input, and part of a block at the end of one is none of it") {
  const Place place;
  FileStorage storage = place.open();
  const Error missing = error_of(storage.open("a"));
  CHECK(missing.kind() == ErrorKind::bad_input);
  CHECK(missing.place() == place.file("a"));
  std::ofstream(place.file("a")) << "no block";
  CHECK(value_or_throw(storage.open("a"))->bytes() == 0);
  std::ofstream(place.file("b")) << std::string(2 * block_bytes + 1, 'b');
  CHECK(value_or_throw(storage.open("b"))->bytes() == 2 * block_bytes);
}

TEST_CASE("a link, a pipe, a directory and a file that others may write are refused") {
  const Place place;
  FileStorage storage = place.open();
  value_or_throw(storage.create("a", block_bytes));
  REQUIRE(::symlink("a", place.file("link").c_str()) == 0);
  REQUIRE(::mkfifo(place.file("pipe").c_str(), 0600) == 0);
  REQUIRE(::mkdir(place.file("directory").c_str(), 0700) == 0);
  for (const char* name : {"link", "pipe", "directory"}) {
    const Error error = error_of(storage.open(name));
    CHECK(error.kind() == ErrorKind::refused);
    CHECK(error.place() == place.file(name));
    CHECK_THAT(error.fix(), Catch::Matchers::Contains("put the file back"));
  }
  REQUIRE(::chmod(place.file("a").c_str(), 0620) == 0);
  const Error open_to_others = error_of(storage.open("a"));
  CHECK(open_to_others.kind() == ErrorKind::refused);
  CHECK_THAT(open_to_others.fix(), Catch::Matchers::Contains("chmod 600 " + place.file("a")) &&
                                       Catch::Matchers::Contains("never remove a segment"));
  value_or_throw(storage.create("link", block_bytes));
  CHECK(value_or_throw(storage.names()) == Names{"a", "directory", "link", "pipe"});
}

TEST_CASE("a journal's directory that others may write is refused, and so is a lock that is a link") {
  const Place place;
  { const FileStorage storage = place.open(); }
  REQUIRE(::chmod(place.path.c_str(), 01777) == 0);
  CHECK(error_of(FileStorage::open_at(place.path)).kind() == ErrorKind::refused);
  CHECK(error_of(FileStorage::open_to_read(place.path)).kind() == ErrorKind::refused);
  REQUIRE(::chmod(place.path.c_str(), 0700) == 0);
  REQUIRE(::rename(place.file("lock").c_str(), place.file("other").c_str()) == 0);
  REQUIRE(::symlink("other", place.file("lock").c_str()) == 0);
  CHECK_FALSE(FileStorage::open_at(place.path));
}

TEST_CASE("a journal in the place of which is a file names that file, and the key to change") {
  const TemporaryDirectory disk;
  const std::string file = disk.path() + "/journal";
  std::ofstream(file) << "of somebody else";
  const Error error = error_of(FileStorage::open_at(file));
  CHECK(error.place() == file);
  CHECK_THAT(error.message(), Catch::Matchers::Contains("the directory of a journal cannot be used: it is no directory"));
  CHECK_THAT(error.fix(), Catch::Matchers::Contains("file_path") && !Catch::Matchers::Contains("runtime directory"));
}

TEST_CASE("a journal on a file system that nobody may write says how to mend that") {
  if (::geteuid() != 0) return spindrift::test::skip("only root can mount a small file system");
  if (!enter_own_mounts()) return spindrift::test::skip("no namespace of mounts can be had here");
  const TemporaryDirectory disk;
  if (::mount("tmpfs", disk.path().c_str(), "tmpfs", MS_RDONLY, "size=256k,mode=0700") != 0)
    return spindrift::test::skip("no file system can be mounted here");
  const Error error = error_of(FileStorage::open_at(disk.path()));
  CHECK(::umount2(disk.path().c_str(), MNT_DETACH) == 0);
  CHECK(error.kind() == ErrorKind::resource);
  CHECK(error.place() == disk.path() + "/lock");
  CHECK_THAT(error.fix(), Catch::Matchers::Contains("for writing") && Catch::Matchers::Contains("file_path"));
}

TEST_CASE("a disk that is full has no file that it could not hold, and room when another is gone") {
  if (::geteuid() != 0) return spindrift::test::skip("only root can mount a small file system");
  if (!enter_own_mounts()) return spindrift::test::skip("no namespace of mounts can be had here");
  const TemporaryDirectory disk;
  if (::mount("tmpfs", disk.path().c_str(), "tmpfs", 0, "size=256k,mode=0700") != 0)
    return spindrift::test::skip("no tmpfs can be mounted here");
  {
    FileStorage storage = value_or_throw(FileStorage::open_at(disk.path()));
    const auto first = value_or_throw(storage.create("a", 40 * block_bytes));
    value_or_throw(first->write(0, blocks_of('x', 40)));
    const Error error = error_of(storage.create("b", 40 * block_bytes));
    CHECK(error.kind() == ErrorKind::disk_full);
    CHECK(error.place() == disk.path() + "/b");
    CHECK_FALSE(error.fix().empty());
    CHECK(value_or_throw(storage.names()) == Names{"a"});
    CHECK(text_of(storage, "a") == std::string(40, 'x'));
  }
  FileStorage storage = value_or_throw(FileStorage::open_at(disk.path()));
  value_or_throw(storage.remove("a"));
  CHECK(storage.create("b", 40 * block_bytes));
  CHECK(::umount2(disk.path().c_str(), MNT_DETACH) == 0);
}

}  // namespace spindrift::store
