// Which threads run handlers, and of which group.
#include <catch2/catch.hpp>

#include <thread>

#include <spindrift/group/handler_threads.hpp>

using spindrift::group::HandlerThreads;
using Kind = HandlerThreads::Kind;

TEST_CASE("a thread is one of a group's while it is in one of its handlers") {
  const HandlerThreads ours;
  const HandlerThreads others;
  CHECK_FALSE(ours.is_one());
  {
    const HandlerThreads::Entry poller(ours, Kind::poller);
    CHECK(ours.is_one());
    CHECK(ours.is_poller());
    CHECK_FALSE(others.is_one());
    {
      const HandlerThreads::Entry own(others, Kind::own);
      CHECK(others.is_one());
      CHECK_FALSE(others.is_poller());
    }
    CHECK_FALSE(others.is_one());
    CHECK(ours.is_poller());
    bool elsewhere = true;
    std::thread([&] { elsewhere = ours.is_one(); }).join();
    CHECK_FALSE(elsewhere);
  }
  CHECK_FALSE(ours.is_one());
}
