// A repair that is interrupted: the journal is the old one or the new one, whole, and the next repair ends what was begun.
#include <catch2/catch.hpp>

#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include <spindrift/store/file_storage.hpp>
#include <spindrift/store/repair_directory.hpp>

#include "../skip.hpp"
#include "crash_states.hpp"
#include "forgetful_fs.hpp"
#include "repair_fixture.hpp"
#include "temporary_directory.hpp"

namespace spindrift::store {
namespace {

TEST_CASE("whatever a crash leaves of a repaired journal, it is whole when it was reported, and else written again") {
  RepairNode node(0);
  RepairNode peer(1);
  live(node);
  live(peer);
  const auto before = node.texts();
  node.damage(node.entries().at(12));
  const std::vector<Storage*> sources{&peer.storage()};
  const RepairPlan plan = plan_for(node, sources);
  const auto done = repair(node, plan, sources);
  const std::size_t steps = done->disk.steps().size();
  std::uint64_t whole = 0;
  std::uint64_t again = 0;
  const auto look = [&](sim::SimulatedDisk& disk, const sim::CrashPoint& point) {
    const auto storage = disk.storage();
    if (point.steps_done == steps) {
      const bool same = value_or_throw(examine(*storage, node.owner())).damages.empty() && node.texts_in(*storage) == before;
      if (!same) FAIL(to_string(point));
      ++whole;
    }
    ++again;
    value_or_throw(write_repaired(node.storage(), plan, sources, *storage, digest_of("again")));
    if (node.texts_in(*storage) != before) FAIL(to_string(point));
  };
  for (const bool reordered : {false, true}) {
    const sim::CrashLimits limits{.exhaustive_max = 4096, .samples = 64, .reordered = reordered};
    for_each_crash_state(done->disk.steps(), limits, look);
  }
  CHECK(whole > 0);
  CHECK(again > 150);
}

TEST_CASE("nothing of what an earlier attempt left is a part of the repaired journal") {
  RepairNode node(0);
  RepairNode peer(1);
  RepairNode left(0);
  for (RepairNode* const each : {&node, &peer, &left}) live(*each);
  const auto before = node.texts();
  node.damage(node.entries().at(12));
  const std::vector<Storage*> sources{&peer.storage()};
  value_or_throw(write_repaired(node.storage(), plan_for(node, sources), sources, left.storage(), digest_of("again")));
  CHECK(left.texts() == before);
  CHECK(left.findings().segments.size() == 1);
}

/// Copies a journal of a simulated disk into a directory, for this user alone.
void copy_to(RepairNode& node, const std::string& directory) {
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms::owner_all);
  FileStorage files = value_or_throw(FileStorage::open_at(directory));
  for (const std::string& name : value_or_throw(node.storage().names())) {
    const auto from = value_or_throw(node.storage().open(name));
    Blocks blocks(from->bytes());
    value_or_throw(from->read(0, blocks));
    const auto to = value_or_throw(files.create(name, blocks.size()));
    value_or_throw(to->write(0, blocks));
  }
}

/// Two nodes' journals, the first of which is damaged.
struct DamagedDirectory {
  TemporaryDirectory above;
  std::string own = above.path() + "/0";
  std::string peer = above.path() + "/1";
  RepairNode node{0};
  RepairNode other{1};
  std::map<SubgroupId, std::vector<std::string>> before;

  DamagedDirectory() {
    live(node);
    live(other);
    before = node.texts();
    node.damage(node.entries().at(12));
    copy_to(node, own);
    copy_to(other, peer);
  }
  [[nodiscard]] bool is_whole(const std::string& directory) {
    FileStorage files = value_or_throw(FileStorage::open_to_read(directory));
    return value_or_throw(examine(files, node.owner())).loss() == nullptr && node.texts_in(files) == before;
  }
  Result<std::string> repair(const DirectoryRepair::Watcher& watcher = {}) {
    SPINDRIFT_TRY_ASSIGN(DirectoryRepair repair, DirectoryRepair::open(own, node.owner(), {peer}));
    return repair.run(digest_of("fresh"), watcher);
  }
};

TEST_CASE_METHOD(DamagedDirectory, "a directory is repaired as often as it is damaged, and each damaged journal kept") {
  const std::string kept = value_or_throw(repair());
  CHECK(kept == own + ".damaged-1");
  CHECK(is_whole(own));
  FileStorage files = value_or_throw(FileStorage::open_to_read(kept));
  CHECK(value_or_throw(examine(files, node.owner())).loss() != nullptr);
  CHECK_FALSE(std::filesystem::exists(own + ".repairing"));
  std::filesystem::remove_all(own);
  copy_to(node, own);
  CHECK(value_or_throw(repair()) == own + ".damaged-2");
  CHECK(is_whole(own));
}

TEST_CASE_METHOD(DamagedDirectory, "a link in the place of the new journal is refused before anything is written") {
  std::filesystem::create_directory_symlink(peer, own + ".repairing");
  FileStorage files = value_or_throw(FileStorage::open_to_read(peer));
  const auto of_peer = other.texts_in(files);
  CHECK(DirectoryRepair::open(own, node.owner(), {peer}).error().kind() == ErrorKind::refused);
  const auto refused = repair();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().place() == own + ".repairing");
  CHECK(other.texts_in(files) == of_peer);
  CHECK_FALSE(is_whole(own));
  CHECK_FALSE(std::filesystem::is_symlink(own));
  std::filesystem::remove(own + ".repairing");
  value_or_throw(repair());
  CHECK(is_whole(own));
}

TEST_CASE_METHOD(DamagedDirectory, "a journal of another node in the place of the new one stays as it is") {
  copy_to(other, own + ".repairing");
  const auto refused = repair();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::refused);
  CHECK(refused.error().place() == own + ".repairing");
  FileStorage files = value_or_throw(FileStorage::open_to_read(own + ".repairing"));
  CHECK(value_or_throw(examine(files, other.owner())).damages.empty());
  CHECK(other.texts_in(files) == other.texts());
}

TEST_CASE_METHOD(DamagedDirectory, "a journal that a link leads to is repaired where it lies, and the link stays") {
  const TemporaryDirectory elsewhere;
  const std::string real = elsewhere.path() + "/kept";
  std::filesystem::rename(own, real);
  std::filesystem::create_directory_symlink(real, own);
  CHECK(value_or_throw(repair()) == real + ".damaged-1");
  CHECK(std::filesystem::read_symlink(own) == real);
  CHECK(is_whole(real));
}

TEST_CASE_METHOD(DamagedDirectory, "a journal that is a mount point is refused before anything is written") {
  std::string failed;
  std::optional<ErrorKind> kind;
  std::thread([&] {
    if (!enter_own_mounts() || ::mount(own.c_str(), own.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      failed = "no namespace of mounts can be had here";
      return;
    }
    if (const auto refused = repair(); !refused) kind = refused.error().kind();
  }).join();
  if (!failed.empty()) return spindrift::test::skip(failed);
  CHECK(kind == ErrorKind::unsupported);
  CHECK_FALSE(std::filesystem::exists(own + ".repairing"));
  CHECK_FALSE(std::filesystem::exists(own + ".damaged-1"));
}

TEST_CASE_METHOD(DamagedDirectory, "a journal that a process has is not repaired") {
  FileStorage held = value_or_throw(FileStorage::open_at(own));
  const auto refused = repair();
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind() == ErrorKind::refused);
}

TEST_CASE("a repair whose process is killed at any step leaves the one journal or the other, and the next one ends it") {
  for (const RepairStep last : {RepairStep::begun, RepairStep::written, RepairStep::named, RepairStep::exchanged}) {
    DamagedDirectory directory;
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      static_cast<void>(directory.repair([&](RepairStep step) {
        if (step == last) ::_exit(42);
      }));
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WEXITSTATUS(status) == 42);
    const bool exchanged = last == RepairStep::exchanged;
    CHECK(directory.is_whole(directory.own) == exchanged);
    if (exchanged) {
      CHECK_FALSE(directory.is_whole(directory.own + ".damaged-1"));
      continue;
    }
    value_or_throw(directory.repair());
    CHECK(directory.is_whole(directory.own));
  }
}

}  // namespace
}  // namespace spindrift::store
