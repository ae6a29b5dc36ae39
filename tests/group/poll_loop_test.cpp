// The poller's loop, look by look: when it yields, prepares and sleeps, and that it never sleeps on a look made too early.
#include <catch2/catch.hpp>

#include <chrono>

#include <spindrift/group/poll_loop.hpp>

using namespace spindrift;
using namespace std::chrono_literals;
using Next = group::PollLoop::Next;

namespace {

Time at(std::chrono::microseconds since) { return Time(since); }

}  // namespace

TEST_CASE("a loop that sleeps yields for as long as it spins, prepares, looks once more, and sleeps") {
  group::PollLoop loop(true, 10us);
  CHECK(loop.on_work() == Next::nothing);
  CHECK(loop.on_nothing(at(100us)) == Next::yield);
  CHECK(loop.on_nothing(at(109us)) == Next::yield);
  CHECK(loop.on_nothing(at(110us)) == Next::prepare);
  CHECK(loop.on_nothing(at(111us)) == Next::sleep);
}

TEST_CASE("work that is found behind the preparation cancels the sleep") {
  group::PollLoop loop(true, 0us);
  CHECK(loop.on_nothing(at(1us)) == Next::prepare);
  CHECK(loop.on_work() == Next::cancel);
  CHECK(loop.on_work() == Next::nothing);
}

TEST_CASE("the time without work begins anew with work, and with every sleep") {
  group::PollLoop loop(true, 10us);
  CHECK(loop.on_nothing(at(0us)) == Next::yield);
  CHECK(loop.on_work() == Next::nothing);
  CHECK(loop.on_nothing(at(10us)) == Next::yield);
  CHECK(loop.on_nothing(at(20us)) == Next::prepare);
  CHECK(loop.on_nothing(at(20us)) == Next::sleep);
  CHECK(loop.on_nothing(at(30us)) == Next::yield);
  CHECK(loop.on_nothing(at(39us)) == Next::yield);
  CHECK(loop.on_nothing(at(40us)) == Next::prepare);
}

TEST_CASE("no two sleeps follow each other without a preparation between them") {
  group::PollLoop loop(true, 0us);
  for (int sleeps = 0; sleeps < 3; ++sleeps) {
    CHECK(loop.on_nothing(at(1us)) == Next::prepare);
    CHECK(loop.on_nothing(at(1us)) == Next::sleep);
  }
}

TEST_CASE("a loop that spins never sleeps") {
  group::PollLoop loop(false, 0us);
  for (const auto since : {0us, 1us, 1'000'000us}) CHECK(loop.on_nothing(at(since)) == Next::yield);
}
