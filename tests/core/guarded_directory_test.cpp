// Which directories are trusted on the way to a group's. Root plays the victim, and children with another user's id attack
// it; without root, what needs another user's hand is skipped and says so.
#include <spindrift/core/guarded_directory.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include <catch2/catch.hpp>

#include "../descriptors.hpp"
#include "../skip.hpp"

using namespace spindrift;
using spindrift::test::skip;
namespace files = std::filesystem;

namespace {

constexpr uid_t attacker = 12345;

class Place {
 public:
  Place() {
    std::string name = (files::temp_directory_path() / "spindrift-guard-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
    REQUIRE(::chmod(name.c_str(), 0755) == 0);  // others may come this far
  }
  ~Place() { files::remove_all(path_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string directory(const std::string& name, mode_t mode, uid_t owner = ::geteuid()) const {
    const std::string path = *this / name;
    REQUIRE(::mkdir(path.c_str(), 0700) == 0);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    if (owner != ::geteuid()) REQUIRE(::chown(path.c_str(), owner, owner) == 0);
    return path;
  }

 private:
  std::string path_;
};

/// Whether what the attacker does succeeds.
bool attack(const std::function<bool()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::setgid(attacker) != 0 || ::setuid(attacker) != 0) ::_exit(2);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) != 2);
  return WEXITSTATUS(status) == 0;
}

bool no_root() {
  if (::geteuid() == 0) return false;
  skip("only root can act as another user");
  return true;
}

void check_refused(const Result<GuardedDirectory>& opened, const std::string& place, const std::string& what) {
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().kind() == ErrorKind::refused);
  CHECK(opened.error().place() == place);
  CHECK_THAT(opened.error().message(), Catch::Contains(what));
  CHECK_FALSE(opened.error().fix().empty());
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

ino_t inode_of(const GuardedDirectory& directory) {
  struct stat status {};
  REQUIRE(::fstat(directory.descriptor(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("a directory that cannot be opened for want of descriptors is not to be blamed for it") {
  if (spindrift::test::sanitizer_opens_pipes) return skip(spindrift::test::pipes_of_the_sanitizer);
  const Place place;
  const std::string path = place.directory("group", 0700);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit none{0, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const auto refused = open_guarded_directory(path, 0);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(refused);
  const std::string text = refused.error().to_string();
  CHECK_THAT(text, Catch::Matchers::Contains("ulimit -n") && !Catch::Matchers::Contains("another directory") &&
                       !Catch::Matchers::Contains("choose a runtime directory"));
}

TEST_CASE("the last two directories are made for this user alone, and none above them") {
  const Place place;
  const auto opened = GuardedDirectory::open(place / "run", "group");
  REQUIRE(opened.ok());
  CHECK((files::status(place / "run").permissions() & files::perms::all) == files::perms::owner_all);
  CHECK((files::status(place / "run/group").permissions() & files::perms::all) == files::perms::owner_all);
  CHECK(opened.value().path() == place / "run/group");
  const auto missing = GuardedDirectory::open(place / "nowhere/run", "group");
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.error().kind() == ErrorKind::resource);
  CHECK(missing.error().place() == place / "nowhere");
  CHECK_THAT(missing.error().fix(), Catch::StartsWith("mkdir -m 700 -p " + (place / "nowhere") + ", "));
  const auto deeper = GuardedDirectory::open(place / "nowhere/at/all/run", "group");
  REQUIRE_FALSE(deeper.ok());
  CHECK_THAT(deeper.error().fix(), Catch::StartsWith("mkdir -m 700 -p " + (place / "nowhere/at/all") + ", "));
}

TEST_CASE("a directory on the way that others may write is refused, unless it is sticky") {
  const Place place;
  const std::string outer = place.directory("outer", GENERATE(0777U, 0775U, 0722U));
  check_refused(GuardedDirectory::open(outer + "/run", "group"), outer, "others than its owner may write");
  check_refused(GuardedDirectory::open(outer, "group"), outer, "others than its owner may write");
  REQUIRE(::chmod(outer.c_str(), 01777) == 0);
  CHECK(GuardedDirectory::open(outer + "/run", "group").ok());
  CHECK(GuardedDirectory::open(outer, "group").ok());
}

TEST_CASE("the group's own directory may not be written by others, sticky or not") {
  const Place place;
  const std::string path = place.directory("group", GENERATE(0777U, 01777U, 0770U, 0702U));
  const auto opened = GuardedDirectory::open(place / "", "group");
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().kind() == ErrorKind::refused);
}

TEST_CASE("links of this user and of root are followed, and end somewhere") {
  const Place place;
  place.directory("home", 0700);
  files::create_directory_symlink(place / "home", place / "absolute");
  files::create_directory_symlink("home/../home", place / "relative");
  files::create_directory_symlink("relative", place / "twice");
  for (const char* const name : {"absolute", "relative", "twice"}) {
    const auto opened = GuardedDirectory::open(place / name, "group");
    REQUIRE(opened.ok());
    CHECK(inode_of(opened.value()) == inode_of(place / "home/group"));
  }
  files::create_directory_symlink("round", place / "round");
  const auto round = GuardedDirectory::open(place / "round", "group");
  REQUIRE_FALSE(round.ok());
  CHECK_THAT(round.error().message(), Catch::Contains("symbolic links"));
}

TEST_CASE("a runtime directory that is no directory is an error that names it") {
  const Place place;
  REQUIRE(::mkfifo((place / "pipe").c_str(), 0600) == 0);
  const auto opened = GuardedDirectory::open(place / "pipe", "group");
  REQUIRE_FALSE(opened.ok());
  CHECK(opened.error().place() == place / "pipe");
}

TEST_CASE("a directory that another user has put where this one's belongs is refused") {
  if (no_root()) return;
  const Place place;
  const std::string shared = place.directory("shared", 01777);
  REQUIRE(attack([&] { return ::mkdir((shared + "/run").c_str(), 0755) == 0; }));
  check_refused(GuardedDirectory::open(shared + "/run", "group"), shared + "/run", "belongs to user 12345");
  REQUIRE(attack([&] { return ::mkdir((shared + "/run/group").c_str(), 0700) == 0; }));
  check_refused(GuardedDirectory::open(shared + "/run", "group"), shared + "/run", "belongs to user 12345");
}

TEST_CASE("a link by which another user leads into this one's home is refused") {
  if (no_root()) return;
  const Place place;
  const std::string home = place.directory("home", 0700);
  const std::string shared = place.directory("shared", 01777);
  REQUIRE(attack([&] { return ::symlink(home.c_str(), (shared + "/run").c_str()) == 0; }));
  check_refused(GuardedDirectory::open(shared + "/run", "group"), shared + "/run", "link belongs to user 12345");
  CHECK(files::is_empty(home));
}

TEST_CASE("who may write an outer directory can swap the inner one, and that is why it is refused") {
  if (no_root()) return;
  const Place place;
  const std::string outer = place.directory("outer", 0755);
  const auto running = GuardedDirectory::open(outer + "/run", "group");
  REQUIRE(running.ok());
  const auto swap = [&] { return ::rename((outer + "/run").c_str(), (outer + "/away").c_str()) == 0; };
  CHECK_FALSE(attack(swap));
  REQUIRE(::chmod(outer.c_str(), 01777) == 0);
  CHECK_FALSE(attack(swap));
  REQUIRE(::chmod(outer.c_str(), 0777) == 0);
  CHECK(attack(swap));
  // A process that is in goes on with its own files; one that comes is not led to others, neither to missing nor to planted
  // ones.
  CHECK(::faccessat(running.value().descriptor(), ".", W_OK, 0) == 0);
  CHECK(inode_of(running.value()) == inode_of(outer + "/away/group"));
  check_refused(GuardedDirectory::open(outer + "/run", "group"), outer, "others than its owner may write");
  CHECK(attack([&] { return ::mkdir((outer + "/run").c_str(), 0777) == 0; }));
  REQUIRE(::chmod(outer.c_str(), 0755) == 0);
  check_refused(GuardedDirectory::open(outer + "/run", "group"), outer + "/run", "belongs to user 12345");
}

TEST_CASE("files are reached through the directory that was opened, whatever its name means now") {
  const Place place;
  const auto opened = GuardedDirectory::open(place / "run", "group");
  REQUIRE(opened.ok());
  files::rename(place / "run", place / "moved");
  const FileDescriptor file(::open(opened.value().through("1.counters").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(file);
  CHECK(files::exists(place / "moved/group/1.counters"));
  CHECK_FALSE(files::exists(place / "run"));
}
