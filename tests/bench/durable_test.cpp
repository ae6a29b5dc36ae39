// Durability of groups as `bench durable` measures it: what it counts, never how fast it is.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <string>

#include <spindrift/bench/durable.hpp>
#include <spindrift/bench/plain_files.hpp>

using namespace spindrift;
using namespace spindrift::bench;
using namespace std::chrono_literals;

namespace {

/// A directory that has to be empty again in the end.
class EmptyDirectory {
 public:
  EmptyDirectory() { REQUIRE(std::filesystem::create_directory(path_)); }
  ~EmptyDirectory() {
    CHECK(std::filesystem::is_empty(path_));
    std::filesystem::remove_all(path_);
  }
  EmptyDirectory(const EmptyDirectory&) = delete;
  EmptyDirectory& operator=(const EmptyDirectory&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("bench-durable-" + std::to_string(::getpid()));
};

/// The rates over a time in which a busy machine, too, gets something done of each kind that is asked for.
LoadRates rates_with(const DurableRun& run, GroupLoad load, bool durable, bool unlogged) {
  for (;; load.watch *= 2) {
    const LoadRates found = durable_load(run, load);
    const bool all = (found.durable > 0 || !durable) && (found.unlogged > 0 || !unlogged);
    if (all || load.watch > 10s) return found;
  }
}

}  // namespace

TEST_CASE("what a run left that a signal ended is removed by the next one in the same directory") {
  const EmptyDirectory above;
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const DiskDirectory left(above.path());
    ::_exit(std::filesystem::is_empty(above.path()) ? 1 : 0);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK_FALSE(std::filesystem::is_empty(above.path()));
  const DiskDirectory next(above.path());
  CHECK(std::distance(std::filesystem::directory_iterator(above.path()), {}) == 1);
}

TEST_CASE("one message at a time is one commit of one block at each member") {
  const EmptyDirectory directory;
  const DurableLatencies found = durable_latencies_ns({directory.path(), 2, 1024, {}}, 1, 20);
  CHECK(found.times_ns.size() == 20);
  for (const std::uint64_t ns : found.times_ns) CHECK(ns > 0);
  const std::uint64_t messages = 20 + 10;  // the first ones warm up
  CHECK(found.commits.batches == 2 * messages);
  CHECK(found.commits.messages == 2 * messages);
  CHECK(found.commits.bytes_each() == store::block_bytes);
}

TEST_CASE("messages of several senders share commits, and all are in all journals") {
  const EmptyDirectory directory;
  const DurableLatencies found = durable_latencies_ns({directory.path(), 2, 10240, {}}, 2, 10);
  CHECK(found.times_ns.size() == 2 * 10);
  CHECK(found.commits.messages == 2 * 2 * 20);
  CHECK(found.commits.batches <= found.commits.messages);
  CHECK(found.commits.bytes_each() >= store::whole_blocks(10240));
}

TEST_CASE("rates are of what is durable at all members, and of what is in memory alone") {
  const EmptyDirectory directory;
  const DurableRun run{directory.path(), 2, 1024, {}};
  GroupLoad load;
  load.warm_up = 20ms;
  load.watch = 100ms;
  const LoadRates durable = rates_with(run, load, true, false);
  CHECK(durable.durable > 0);
  CHECK(durable.unlogged == 0);
  CHECK(durable.commits.messages > 0);

  load.unlogged = true;
  const LoadRates both = rates_with(run, load, true, true);
  CHECK(both.durable > 0);
  CHECK(both.unlogged > 0);

  load.logging = Logging::one_at_a_time;
  const LoadRates slow = rates_with(run, load, true, true);
  CHECK(slow.durable > 0);
  CHECK(slow.unlogged > 0);
  CHECK(slow.commits.messages_each() <= 2);  // each of the two members has one on its way

  load.logging = Logging::none;
  load.plain_bytes = 4096;
  const LoadRates unlogged = rates_with(run, load, false, true);
  CHECK(unlogged.durable == 0);
  CHECK(unlogged.unlogged > 0);
  CHECK(unlogged.commits.batches == 0);
}

TEST_CASE("plain files are measured one by one and in rounds") {
  const EmptyDirectory directory;
  const FilesRun run{directory.path(), 2, 5000};
  CHECK(file_latencies_ns(run, 10).size() == 2 * 10);
  CHECK(file_rounds_ns(run, 10).size() == 10);
  CHECK(file_batches_per_second(run, 50ms) > 0);
}

TEST_CASE("a journal that is not there has no commits to count") {
  const std::array<std::string, 1> nowhere{"/nowhere/at/all"};
  CHECK_THROWS_AS(read_commits(nowhere), Exception);
}
