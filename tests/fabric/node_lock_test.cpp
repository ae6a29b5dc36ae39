// A node's id belongs to one process at a time and to no child of it.
#include <spindrift/fabric/node_lock.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <thread>

#include <spindrift/fabric/rendezvous.hpp>

#include "../sanitized.hpp"
#include "harness.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;
using spindrift::test::rounds_of;

namespace {

class Pipe {
 public:
  Pipe() {
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    out_ = FileDescriptor(ends[0]);
    in_ = FileDescriptor(ends[1]);
  }
  void say(int number) const { CHECK(::write(in_.get(), &number, sizeof number) == sizeof number); }
  [[nodiscard]] int hear() const {
    int number = -1;
    REQUIRE(::read(out_.get(), &number, sizeof number) == sizeof number);
    return number;
  }

 private:
  FileDescriptor out_;
  FileDescriptor in_;
};

/// A forked process that does this, and is killed and waited for at the end.
class Forked {
 public:
  template <class Work>
  explicit Forked(Work work) : pid_(::fork()) {
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    work();
    ::_exit(0);
  }
  ~Forked() { end(); }
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

[[noreturn]] void sleep_for_good() {
  while (true) ::pause();
}

FileDescriptor open_directory(const TemporaryDirectory& directory) {
  return FileDescriptor(::open(directory.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

TEST_CASE("a node starts again at once when its process was killed and a child that it had forked lives on") {
  const TemporaryDirectory directory;
  const Pipe pipe;
  Forked parent([&] {
    const Endpoint endpoint(2, make_shm_or_throw(NodeId(2), directory.path()));
    const pid_t child = ::fork();
    if (child == 0) sleep_for_good();
    pipe.say(child);
    sleep_for_good();
  });
  const pid_t orphan = pipe.hear();
  const auto again = make_shm_or_throw(NodeId(2), directory.path());
  const auto refused = again->listen({NodeId(2), ""});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message() == "node 2 is already running as pid " + std::to_string(parent.pid()));
  parent.end();
  REQUIRE(::kill(orphan, 0) == 0);
  CHECK(again->listen({NodeId(2), ""}).ok());
  ::kill(orphan, SIGKILL);
}

TEST_CASE("a forked child that ends takes nothing of its parent's away") {
  const TemporaryDirectory directory;
  auto rendezvous = std::make_unique<Rendezvous>(value_or_throw(Rendezvous::open(directory.path(), "group")));
  value_or_throw(rendezvous->claim(NodeId(1)));
  const FileDescriptor listener = value_or_throw(rendezvous->listen());
  const pid_t child = ::fork();
  if (child == 0) {
    rendezvous.reset();
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(std::filesystem::exists(directory.path() + "/group/1.lock"));
  CHECK(std::filesystem::exists(directory.path() + "/group/1.sock"));
  const Pipe pipe;
  const Forked other([&] { pipe.say(Rendezvous::open(directory.path(), "group").value().claim(NodeId(1)).ok() ? 1 : 0); });
  CHECK(pipe.hear() == 0);
}

TEST_CASE("what lies where a lock belongs and is no regular file is told of by its name") {
  const TemporaryDirectory directory;
  const FileDescriptor open = open_directory(directory);
  REQUIRE(::mkfifo((directory.path() + "/2.lock").c_str(), 0600) == 0);
  const auto lock = NodeLock::try_take(open.get(), "2.lock");
  REQUIRE_FALSE(lock.ok());
  CHECK(lock.error().message().find("2.lock is there and no regular file") == 0);
}

TEST_CASE("of two processes that race for one node exactly one gets it") {
  const TemporaryDirectory directory;
  for (int round = 0; round < rounds_of(200); ++round) {
    const Pipe start;
    const Pipe outcome;
    const Pipe finish;
    const auto race = [&] {
      static_cast<void>(start.hear());
      auto rendezvous = Rendezvous::open(directory.path(), "group");
      outcome.say(rendezvous.ok() && rendezvous.value().claim(NodeId(3)).ok() ? 1 : 0);
      static_cast<void>(finish.hear());  // until both have tried
    };
    const Forked one(race);
    const Forked other(race);
    start.say(0);
    start.say(0);
    REQUIRE(outcome.hear() + outcome.hear() == 1);
  }
}

TEST_CASE("threads of one process race for a lock as processes do, and none loses it by the others' attempts") {
  const TemporaryDirectory directory;
  const FileDescriptor at = open_directory(directory);
  for (int round = 0; round < 50; ++round) {
    std::array<std::optional<NodeLock>, 4> locks;
    std::array<std::thread, 4> threads;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i] = std::thread([&, i] {
        auto taken = NodeLock::try_take(at.get(), "1.lock").value();
        if (taken) locks[i].emplace(std::move(*taken));
      });
    }
    for (std::thread& thread : threads) thread.join();
    REQUIRE(std::count_if(locks.begin(), locks.end(), [](const auto& lock) { return lock.has_value(); }) == 1);
    CHECK(NodeLock::holder(at.get(), "1.lock") == ::getpid());
    const Pipe pipe;
    const Forked other([&] { pipe.say(NodeLock::try_take(at.get(), "1.lock").value() ? 1 : 0); });
    REQUIRE(pipe.hear() == 0);
  }
}

TEST_CASE("a lock counts only on the file that its name means") {
  const TemporaryDirectory directory;
  const FileDescriptor at = open_directory(directory);
  const Pipe pipe;
  const Forked holder([&] {
    const auto lock = NodeLock::try_take(at.get(), "1.lock").value();
    pipe.say(lock ? 1 : 0);
    sleep_for_good();
  });
  REQUIRE(pipe.hear() == 1);
  CHECK_FALSE(NodeLock::try_take(at.get(), "1.lock").value());
  CHECK(NodeLock::holder(at.get(), "1.lock") == holder.pid());
  REQUIRE(::unlinkat(at.get(), "1.lock", 0) == 0);
  CHECK_FALSE(NodeLock::holder(at.get(), "1.lock"));
  CHECK(NodeLock::try_take(at.get(), "1.lock").value());
}

TEST_CASE("a link in the place of a lock is not followed") {
  const TemporaryDirectory directory;
  std::filesystem::create_symlink("/etc/passwd", directory.path() + "/1.lock");
  CHECK_FALSE(NodeLock::try_take(open_directory(directory).get(), "1.lock").ok());
}

TEST_CASE("a second group of the name does not start where another user could have put the first one's directory away") {
  const TemporaryDirectory directory;
  const std::string outer = directory.path() + "/run";
  const Endpoint running(1, make_shm_or_throw(NodeId(1), outer));
  std::filesystem::permissions(outer, std::filesystem::perms::all);
  std::filesystem::rename(outer + "/group", outer + "/away");  // as anybody could now
  const auto second = make_shm({.self = NodeId(1), .runtime_directory = outer, .group_name = "group"});
  REQUIRE_FALSE(second.ok());
  CHECK(second.error().kind() == ErrorKind::refused);
  CHECK(second.error().place() == outer);
}
