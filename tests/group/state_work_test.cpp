// Saving and loading beside the poller: nothing of a state is written, loaded or closed on the poller's own thread.
#include <catch2/catch.hpp>

#include <istream>
#include <iterator>
#include <memory>
#include <ostream>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <spindrift/core/result.hpp>
#include <spindrift/group/state_thread.hpp>
#include <spindrift/group/state_work.hpp>

#include "file_size_limit.hpp"

using namespace spindrift;
using namespace spindrift::group;

namespace {

/// Says on which thread it is destroyed.
class Witness {
 public:
  explicit Witness(std::thread::id& destroyed_on) : destroyed_on_(destroyed_on) {}
  ~Witness() { destroyed_on_ = std::this_thread::get_id(); }
  Witness(const Witness&) = delete;
  Witness& operator=(const Witness&) = delete;

 private:
  std::thread::id& destroyed_on_;
};

/// A StateWork with the poller's part in it.
struct Poller {
  /// Until nothing is at work.
  void await() {
    while (work.busy()) done.acquire();
  }
  [[nodiscard]] std::string failure() const {
    try {
      work.rethrow();
    } catch (const Exception& why) {
      return why.what();
    }
    return "";
  }

  std::counting_semaphore<> done{0};
  StateWork work{[this] { done.release(); }};
};

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

}  // namespace

TEST_CASE("what is disposed of is destroyed on the thread of states, behind what that has to do") {
  std::thread::id destroyed_on;
  std::thread::id worked_on;
  std::binary_semaphore go(0);
  StateThread thread;
  thread.give([&] {
    go.acquire();
    worked_on = std::this_thread::get_id();
  });
  thread.dispose(std::make_shared<Witness>(destroyed_on));
  CHECK(destroyed_on == std::thread::id());
  std::binary_semaphore over(0);
  thread.give([&] { over.release(); });
  go.release();
  over.acquire();
  CHECK(destroyed_on == worked_on);
  CHECK(destroyed_on != std::this_thread::get_id());
}

TEST_CASE("where no thread of states is at work any more, what is disposed of goes at once") {
  std::thread::id destroyed_on;
  StateThread thread;
  SECTION("nor ever was") {}
  SECTION("since it was stopped") {
    thread.give([] {});
    thread.stop();
  }
  thread.dispose(std::make_shared<Witness>(destroyed_on));
  CHECK(destroyed_on == std::this_thread::get_id());
}

TEST_CASE("pieces of a state are written and loaded in order, by another thread, and so is a save") {
  const std::thread::id poller_thread = std::this_thread::get_id();
  std::thread::id saved_on;
  std::thread::id loaded_on;
  std::string loaded;
  Poller poller;
  poller.work.set(
      [&](std::ostream& to) {
        saved_on = std::this_thread::get_id();
        to << "the state";
      },
      [&](std::istream& from) {
        loaded_on = std::this_thread::get_id();
        loaded.assign(std::istreambuf_iterator(from), {});
      });
  const auto reader = poller.work.save();
  poller.await();
  REQUIRE(reader->ready());
  REQUIRE(reader->bytes() == 9);
  const auto writer = poller.work.load();
  for (std::uint64_t at = 0; at < reader->bytes(); ++at) {
    std::vector<std::byte> piece(1);
    reader->read(at, piece);
    writer->write(piece);
  }
  CHECK_FALSE(poller.work.loading());
  writer->finish();
  poller.await();
  CHECK(loaded == "the state");
  CHECK(saved_on != poller_thread);
  CHECK(loaded_on == saved_on);
}

TEST_CASE("what a save throws is its reader's failure, and the application goes on") {
  Poller poller;
  std::string expected;
  SECTION("an exception with words") {
    expected = "no memory today";
    poller.work.set([](std::ostream&) { throw std::runtime_error("no memory today"); }, [](std::istream&) {});
  }
  SECTION("anything else") {
    expected = "what it threw is no std::exception";
    poller.work.set([](std::ostream&) { throw 42; }, [](std::istream&) {});
  }
  const auto reader = poller.work.save();
  poller.await();
  REQUIRE(reader->ready());
  CHECK(reader->failure() == expected);
  CHECK(poller.failure().empty());
  CHECK_FALSE(poller.work.busy());
  CHECK(poller.work.save() != nullptr);  // the next newcomer's is tried again
  poller.await();
}

TEST_CASE("a disk that takes no more of a state is the thread's failure, and nothing is loaded behind it") {
  bool loaded = false;
  Poller poller;
  poller.work.set([](std::ostream&) {}, [&](std::istream&) { loaded = true; });
  const FileSizeLimit limit(4096);
  const auto writer = poller.work.load();
  writer->write(bytes_of(std::string(8192, 'x')));
  writer->finish();
  while (poller.failure().empty()) poller.done.acquire();
  CHECK(poller.failure().find("write a state") != std::string::npos);
  CHECK(poller.work.busy());  // so that nothing is delivered behind a state that is not there
  CHECK_FALSE(loaded);
}
