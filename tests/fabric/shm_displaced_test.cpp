// An endpoint of shared memory from which something is taken away: its directory, its files in there, descriptors. It ends
// with an error of its own where it can no longer be found, and keeps the peers that it has where it cannot take in another.
#include "harness.hpp"

#include <sys/resource.h>

#include <spindrift/core/limits.hpp>

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::test;

namespace {

std::string group_of(const TemporaryDirectory& directory) { return directory.path() + "/group"; }

void check_displaced(Endpoint& endpoint) {
  const Event ended = await(endpoint, Event::Kind::ended);
  REQUIRE(ended.reason);
  CHECK(ended.reason->kind() == ErrorKind::resource);
  CHECK_THAT(ended.reason->to_string(), Catch::Contains("removed or renamed") && Catch::Contains("/group"));
}

/// The soft limit of descriptors, as it was before at the end.
class DescriptorLimit {
 public:
  DescriptorLimit() { REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0); }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;
  /// So many more can be opened.
  void leave(std::size_t descriptors) const {
    const std::size_t open = before_.rlim_cur - value(descriptors_free());
    const rlimit limit{open + descriptors, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE(descriptors_free() == descriptors);
  }
  void restore() const { REQUIRE(::setrlimit(RLIMIT_NOFILE, &before_) == 0); }

 private:
  static std::size_t value(std::optional<std::size_t> free) {
    REQUIRE(free);
    return *free;
  }
  rlimit before_{};
};

}  // namespace

TEST_CASE("an endpoint whose directory is removed ends, for a second group could begin there") {
  const TemporaryDirectory directory;
  Endpoint endpoint(1, make_shm_or_throw(NodeId(1), directory.path()));
  std::filesystem::remove_all(group_of(directory));
  check_displaced(endpoint);
}

TEST_CASE("an endpoint whose directory is renamed ends") {
  const TemporaryDirectory directory;
  Endpoint endpoint(1, make_shm_or_throw(NodeId(1), directory.path()));
  std::filesystem::rename(group_of(directory), group_of(directory) + ".old");
  check_displaced(endpoint);
}

TEST_CASE("an endpoint whose lock or socket is taken out of the directory, or put elsewhere, ends") {
  const TemporaryDirectory directory;
  Endpoint endpoint(1, make_shm_or_throw(NodeId(1), directory.path()));
  const std::string file = group_of(directory) + GENERATE("/1.lock", "/1.sock");
  const bool removed = GENERATE(true, false);
  if (removed) std::filesystem::remove(file);
  if (!removed) std::filesystem::rename(file, file + ".old");
  check_displaced(endpoint);
}

TEST_CASE("what others have in the directory may go and come") {
  const TemporaryDirectory directory;
  Endpoint staying(1, make_shm_or_throw(NodeId(1), directory.path()));
  std::ofstream(group_of(directory) + "/7.lock") << "";
  for (int i = 0; i < 3; ++i) {
    {
      Endpoint other(2, make_shm_or_throw(NodeId(2), directory.path()));  // removes 7.lock, and its own files as it ends
      other.connect(staying);
      await(staying, Event::Kind::connected);
    }
    await(staying, Event::Kind::lost);
  }
  std::filesystem::remove(group_of(directory) + "/claims.lock");
  Endpoint last(3, make_shm_or_throw(NodeId(3), directory.path()));
  last.connect(staying);
  await(staying, Event::Kind::connected);
  CHECK(staying.count(Event::Kind::ended) == 0);
}

TEST_CASE("an endpoint with few descriptors left turns away who calls, and keeps the peers that it has") {
  const TemporaryDirectory directory;
  const Log log(directory);
  Endpoint crowded(1, make_shm_or_throw(NodeId(1), directory.path()));
  Endpoint peer(2, make_shm_or_throw(NodeId(2), directory.path()));
  Endpoint caller(3, make_shm_or_throw(NodeId(3), directory.path()));
  peer.connect(crowded);
  const PeerId at_peer = await(peer, Event::Kind::connected, {&crowded}).peer;
  await(crowded, Event::Kind::connected);
  const DescriptorLimit limit;
  limit.leave(10);
  caller.connect(crowded);
  while (count_of(log.text(), "event=turned_away") == 0) std::this_thread::yield();
  CHECK_THAT(log.text(), Catch::Contains("event=peer_not_taken_in") && Catch::Contains("raise ulimit -n"));
  send(peer, at_peer, "still here");
  CHECK(text_of(await(crowded, Event::Kind::message)) == "still here");
  CHECK(crowded.count(Event::Kind::ended) == 0);
  CHECK(crowded.count(Event::Kind::lost) == 0);
  limit.restore();
  caller.connect(crowded);
  await(crowded, Event::Kind::connected, {&caller});
}
