// The rendezvous directory: who may be which node, and which directories are trusted.
#include "child.hpp"
#include "harness.hpp"

#include <sys/stat.h>
#include <unistd.h>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

TEST_CASE("an id of a live process is refused with its pid, and free again after its end") {
  const TemporaryDirectory directory;
  auto first = std::make_unique<Endpoint>(2, make_shm_or_throw(NodeId(2), directory.path()));
  const auto second = make_shm_or_throw(NodeId(2), directory.path());
  const auto refused = second->listen({NodeId(2), ""});
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::refused);
  REQUIRE(refused.error().message() == "node 2 is already running as pid " + std::to_string(::getpid()));
  first.reset();
  REQUIRE(second->listen({NodeId(2), ""}).ok());
}

TEST_CASE("a node that is started again at the moment of its death gets its id, when the kernel is through with that") {
  const TemporaryDirectory directory;
  for (int round = 0; round < 50; ++round) {
    const Child child(directory.path(), "2", "stay");
    const auto observer = make_shm_or_throw(NodeId(1), directory.path());
    REQUIRE(observer->listen({NodeId(1), ""}).ok());
    while (value_or_throw(observer->present()) != std::vector{NodeId(2)}) ::usleep(1000);
    const auto next = make_shm_or_throw(NodeId(2), directory.path());
    child.kill(SIGKILL);
    const auto listening = next->listen({NodeId(2), ""});
    INFO((listening ? std::string() : listening.error().to_string()));
    REQUIRE(listening.ok());
  }
}

TEST_CASE("an endpoint knows which other nodes have a process, be they connected or not, until that has ended") {
  const TemporaryDirectory directory;
  const auto own = make_shm_or_throw(NodeId(1), directory.path());
  REQUIRE(own->listen({NodeId(1), ""}).ok());
  CHECK(value_or_throw(own->present()).empty());
  auto other = make_shm_or_throw(NodeId(2), directory.path());
  CHECK(value_or_throw(own->present()).empty());  // it is no node yet
  REQUIRE(other->listen({NodeId(2), ""}).ok());
  std::ofstream(directory.path() + "/group/3.lock") << "17\n";  // of a process that has ended
  CHECK(value_or_throw(own->present()) == std::vector{NodeId(2)});
  CHECK(value_or_throw(other->present()) == std::vector{NodeId(1)});
  {
    const Child child(directory.path(), "0", "stay");
    // A process that starts holds the locks of the dead for a moment, to clean up after them.
    while (value_or_throw(own->present()) != std::vector{NodeId(0), NodeId(2)}) ::usleep(1000);
  }
  other.reset();
  CHECK(value_or_throw(own->present()).empty());
}

TEST_CASE("an endpoint listens as itself, once, and before it connects to others") {
  const TemporaryDirectory directory;
  const auto endpoint = make_shm_or_throw(NodeId(2), directory.path());
  REQUIRE_FALSE(endpoint->connect({NodeId(3), ""}).ok());
  REQUIRE_FALSE(endpoint->listen({NodeId(3), ""}).ok());
  REQUIRE(endpoint->listen({NodeId(2), ""}).ok());
  REQUIRE_FALSE(endpoint->listen({NodeId(2), ""}).ok());
  REQUIRE_FALSE(endpoint->connect({NodeId(2), ""}).ok());
  REQUIRE(endpoint->connect({NodeId(3), ""}).ok());
}

TEST_CASE("the directory is made for its owner alone") {
  const TemporaryDirectory directory;
  const Endpoint endpoint(1, make_shm_or_throw(NodeId(1), directory.path() + "/run"));
  struct stat status {};
  REQUIRE(::stat((directory.path() + "/run/group").c_str(), &status) == 0);
  REQUIRE((status.st_mode & 0777U) == 0700U);
}

TEST_CASE("a directory that others may write is refused with the fix") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/group";
  std::filesystem::create_directory(path);
  REQUIRE(::chmod(path.c_str(), GENERATE(0770U, 0777U, 0702U)) == 0);
  const auto refused = make_shm({.self = NodeId(1), .runtime_directory = directory.path(), .group_name = "group"});
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::refused);
  REQUIRE_THAT(refused.error().fix(), Catch::Contains("chmod go-w " + path));
}

TEST_CASE("a directory of another user and a link in its place are refused") {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/group";
  const auto make = [&] {
    return make_shm({.self = NodeId(1), .runtime_directory = directory.path(), .group_name = "group"});
  };
  std::filesystem::create_directory_symlink("/tmp", path);
  REQUIRE_FALSE(make().ok());
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  if (::chown(path.c_str(), 12345, 12345) == 0) REQUIRE(make().error().kind() == ErrorKind::refused);  // only root can try
}

TEST_CASE("a group name that is not a plain file name is refused") {
  const TemporaryDirectory directory;
  const auto name = GENERATE(as<std::string>{}, "", ".", "..", "a/b", ".hidden", "white space", std::string(65, 'x'));
  const auto refused = make_shm({.self = NodeId(1), .runtime_directory = directory.path(), .group_name = name});
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().kind() == ErrorKind::bad_argument);
}

TEST_CASE("a runtime directory that cannot be is an error that names it") {
  const auto refused = make_shm({.self = NodeId(1), .runtime_directory = "/proc/nowhere/at/all", .group_name = "group"});
  REQUIRE_FALSE(refused.ok());
  REQUIRE(refused.error().place() == "/proc/nowhere");
}

TEST_CASE("a runtime directory longer than any socket address works") {
  const TemporaryDirectory directory;
  const std::string deep = directory.path() + "/" + std::string(150, 'd') + "/" + std::string(150, 'e');
  std::filesystem::create_directories(deep);
  Endpoint a(1, make_shm_or_throw(NodeId(1), deep));
  Endpoint b(2, make_shm_or_throw(NodeId(2), deep));
  b.connect(a);
  await(a, Event::Kind::connected);
  await(b, Event::Kind::connected);
}

TEST_CASE("groups of different names do not see each other") {
  const TemporaryDirectory directory;
  const auto make = [&](const char* group, std::uint32_t id) {
    return value_or_throw(make_shm({.self = NodeId(id), .runtime_directory = directory.path(), .group_name = group}));
  };
  Endpoint a(1, make("left", 1));
  Endpoint b(2, make("right", 2));
  Endpoint c(2, make("left", 2));
  b.connect(a);
  c.connect(a);
  const PeerId peer = await(a, Event::Kind::connected).peer;
  send(a, peer, "to the left");
  REQUIRE(text_of(await(c, Event::Kind::message)) == "to the left");
  b.pump();
  REQUIRE(b.inbox.empty());
}
