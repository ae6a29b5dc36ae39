// A node's record of views on disk: what its next process finds, whatever happened to the one before.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <spindrift/group/view_file.hpp>

namespace spindrift::group {
namespace {

struct Place {
  Place() {
    std::string name = std::filesystem::temp_directory_path() / "spindrift-views-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root = name;
    directory.emplace(value_or_throw(GuardedDirectory::open(root, "g")));
  }
  ~Place() { std::filesystem::remove_all(root); }
  [[nodiscard]] ViewFile open(std::uint32_t node) const { return value_or_throw(ViewFile::open(*directory, NodeId(node))); }
  [[nodiscard]] std::string path(std::uint32_t node) const { return root + "/g/views/" + std::to_string(node) + ".views"; }
  void write(std::uint32_t node, std::streamoff at, const std::string& bytes) const {
    std::fstream file(path(node), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
  }
  std::string root;
  std::optional<GuardedDirectory> directory;
};

views::ViewRecord record(std::uint64_t id) {
  views::ViewRecord record;
  record.since = 7;
  record.logs_from = 5;
  record.last = views::RecordedView{ViewId(id), {{NodeId(0), 8}, {NodeId(1), 9}}, {1, {{NodeId(0), "a:1"}}, {}}};
  return record;
}

std::string error_of(const Result<std::optional<views::ViewRecord>>& result) {
  REQUIRE_FALSE(result);
  CHECK_FALSE(result.error().fix().empty());
  return result.error().to_string();
}

}  // namespace

TEST_CASE("the next process of a node finds what was stored last") {
  const Place place;
  {
    ViewFile file = place.open(3);
    CHECK_FALSE(value_or_throw(file.load()));
    for (std::uint64_t id = 1; id <= 3; ++id) value_or_throw(file.store(record(id)));
  }
  ViewFile next = place.open(3);
  CHECK(value_or_throw(next.load()) == record(3));
  value_or_throw(next.store(record(4)));
  next.close();
  CHECK(value_or_throw(place.open(3).load()) == record(4));
}

TEST_CASE("a node has one process on a host, and its neighbors see whether it lives") {
  const Place place;
  ViewFile one = place.open(1);
  static_cast<void>(value_or_throw(one.load()));
  value_or_throw(one.store(record(5)));
  const auto second = ViewFile::open(*place.directory, NodeId(1));
  REQUIRE_FALSE(second);
  CHECK(second.error().kind() == ErrorKind::refused);
  CHECK(second.error().message() == "a process of node 1 runs on this host and keeps its record of views");
  CHECK_FALSE(ViewFile::forget(*place.directory, NodeId(1)));
  ViewFile other = place.open(2);
  for (const bool lives : {true, false}) {
    if (!lives) one.close();
    const auto neighbors = value_or_throw(other.neighbors());
    REQUIRE(neighbors.size() == 1);
    CHECK(neighbors[0].node == NodeId(1));
    CHECK(neighbors[0].lives == lives);
    CHECK(neighbors[0].record == record(5));
  }
  value_or_throw(ViewFile::forget(*place.directory, NodeId(1)));
  CHECK(value_or_throw(other.neighbors()).empty());
  CHECK_FALSE(value_or_throw(place.open(1).load()));
}

TEST_CASE("a node's record is the next process's at once when its process was killed, though its child lives on") {
  const Place place;
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t process = ::fork();
  if (process == 0) {
    const ViewFile file = place.open(1);
    const pid_t child = ::fork();
    if (child != 0) static_cast<void>(::write(pipe[1], &child, sizeof child));
    while (true) ::pause();
  }
  pid_t child = 0;
  REQUIRE(::read(pipe[0], &child, sizeof child) == sizeof child);
  CHECK_FALSE(ViewFile::open(*place.directory, NodeId(1)));
  REQUIRE(::kill(process, SIGKILL) == 0);
  REQUIRE(::waitpid(process, nullptr, 0) == process);
  CHECK(::kill(child, 0) == 0);
  CHECK(ViewFile::open(*place.directory, NodeId(1)));
  ::kill(child, SIGKILL);
  for (const int end : pipe) ::close(end);
}

TEST_CASE("a record that changes while a neighbor reads it, and whose process ends then, is read whole") {
  const Place place;
  ViewFile reader = place.open(1);
  for (int round = 0; round < 300; ++round) {
    ViewFile writer = place.open(2);
    static_cast<void>(value_or_throw(writer.load()));
    value_or_throw(writer.store(record(5)));
    std::thread stores([&] {
      for (int i = 0; i < 20; ++i) static_cast<void>(writer.store(record(5)));
      writer.close();
    });
    bool whole = true;
    for (bool lives = true; whole && lives;) {
      const auto neighbors = reader.neighbors();
      whole = neighbors && neighbors->front().record == record(5);
      lives = whole && neighbors->front().lives;
    }
    stores.join();
    REQUIRE(whole);
  }
}

TEST_CASE("processes of one node that begin at once never have two records, and none wipes what another stored") {
  for (int round = 0; round < 1000; ++round) {
    const Place place;
    std::atomic<int> begun = 0;
    std::atomic<std::uint64_t> stored = 0;
    std::atomic<bool> right = true;
    const auto process = [&] {
      ++begun;
      while (begun < 2) std::this_thread::yield();
      for (int i = 0; i < 3; ++i) {
        auto file = ViewFile::open(*place.directory, NodeId(1));
        if (!file) continue;  // the other one has it
        const std::uint64_t before = stored;
        const auto known = file->load();
        const auto expected = before == 0 ? std::nullopt : std::optional(record(before));
        if (!known || *known != expected || !file->store(record(before + 1))) right = false;
        stored = before + 1;
      }
    };
    std::thread one(process);
    std::thread other(process);
    one.join();
    other.join();
    REQUIRE(right);
  }
}

TEST_CASE("a record that is forgotten while a process begins is not that process's, which has the only one") {
  const Place place;
  std::atomic<bool> over = false;
  std::thread forgets([&] {
    while (!over) static_cast<void>(ViewFile::forget(*place.directory, NodeId(1)));
  });
  bool right = true;
  for (int round = 0; right && round < 5000; ++round) {
    const auto file = ViewFile::open(*place.directory, NodeId(1));
    if (file) right = std::filesystem::exists(place.path(1)) && !ViewFile::open(*place.directory, NodeId(1));
  }
  over = true;
  forgets.join();
  CHECK(right);
}

TEST_CASE("a store that was cut off leaves the one before") {
  const Place place;
  {
    ViewFile file = place.open(1);
    static_cast<void>(value_or_throw(file.load()));
    value_or_throw(file.store(record(5)));
  }
  place.write(1, 32, std::string("\x02", 1));                     // begun
  place.write(1, 4096, std::string(100, 'x'));                    // its place
  CHECK(value_or_throw(place.open(1).load()) == record(5));
}

TEST_CASE("a record that is there and cannot be read is no empty one") {
  const Place place;
  {
    ViewFile file = place.open(1);
    static_cast<void>(value_or_throw(file.load()));
    value_or_throw(file.store(record(5)));
  }
  const auto with = [&](std::streamoff at, const std::string& bytes) {
    const std::string whole = place.path(1) + ".whole";
    std::filesystem::copy_file(place.path(1), whole, std::filesystem::copy_options::overwrite_existing);
    place.write(1, at, bytes);
    const std::string error = error_of(place.open(1).load());
    CHECK(value_or_throw(value_or_throw(ViewFile::open(*place.directory, NodeId(2))).neighbors()).empty());
    std::filesystem::rename(whole, place.path(1));
    return error;
  };
  const std::streamoff slot = 4096 + static_cast<std::streamoff>(ViewFile::slot_bytes);
  CHECK(with(0, "x").find("it is no such record") != std::string::npos);
  CHECK(with(8, "\x07").find("its version is 7, and this build knows 3") != std::string::npos);
  CHECK(with(12, "\x05").find("it is that of node 5") != std::string::npos);
  CHECK(with(32, "\x09").find("its numbers are impossible") != std::string::npos);
  CHECK(with(slot, "\x09").find("its last store is not there") != std::string::npos);
  CHECK(with(slot + 40, "\x09").find("its digest is wrong") != std::string::npos);
  CHECK(value_or_throw(place.open(1).load()) == record(5));
  std::filesystem::resize_file(place.path(1), 10);
  CHECK(error_of(place.open(1).load()).find("it is too short") != std::string::npos);
}

TEST_CASE("a record of another start of the machine is none") {
  const Place place;
  {
    ViewFile file = place.open(1);
    static_cast<void>(value_or_throw(file.load()));
    value_or_throw(file.store(record(5)));
  }
  place.write(1, 16, "another boot    ");
  CHECK(value_or_throw(place.open(2).neighbors()).front().record.empty());
  ViewFile file = place.open(1);
  CHECK_FALSE(value_or_throw(file.load()));
  value_or_throw(file.store(record(1)));
  file.close();
  CHECK(value_or_throw(place.open(1).load()) == record(1));
}

TEST_CASE("a file that others may write is none of the node's") {
  const Place place;
  place.open(1).close();
  REQUIRE(::chmod(place.path(1).c_str(), 0666) == 0);
  const auto opened = ViewFile::open(*place.directory, NodeId(1));
  REQUIRE_FALSE(opened);
  CHECK(opened.error().kind() == ErrorKind::refused);
}

}  // namespace spindrift::group
