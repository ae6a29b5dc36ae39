// The operations that a provider does not take at once, by themselves: their order, their counts, and their end.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include <spindrift/fabric/connected/backlog.hpp>

#include "unprovided.hpp"

using namespace spindrift;
using namespace spindrift::fabric;
using namespace spindrift::fabric::connected;

namespace {

struct Request {
  int number = 0;
  OwnRegion* region = nullptr;
  bool copied = false;
  const std::byte* local = nullptr;
  std::size_t bytes = 0;
  std::vector<std::byte> owned;
};

/// A provider that takes as many as it has room for.
struct Waiting {
  PeerCall call;
  Unprovided connection{call};
  OwnRegion region;
  Backlog<Request> backlog;
  std::size_t room = 0;
  std::vector<int> taken;

  bool offer(const Request& request) {
    if (room == 0) return false;
    --room;
    taken.push_back(request.number);
    return true;
  }
  void post(Request request) {
    backlog.post(connection, std::move(request), [this](Request& offered) { return offer(offered); });
  }
  void post(int number, std::size_t bytes) { post({number, &region, false, nullptr, bytes, {}}); }
  void flush(std::size_t free) {
    room = free;
    backlog.flush(connection, [this](Request& offered) { return offer(offered); });
  }
};

}  // namespace

TEST_CASE("what waits for the provider is told as unsent until it is taken, and not a byte longer") {
  Waiting waiting;
  waiting.room = 1;
  waiting.post(1, 100);
  CHECK(waiting.connection.unsent_bytes == 0);  // from here on the provider's to count
  waiting.post(2, 20);
  waiting.post(3, 3);
  CHECK(waiting.connection.unsent_bytes == 23);
  waiting.flush(1);
  CHECK(waiting.connection.unsent_bytes == 3);
  waiting.flush(5);
  CHECK(waiting.connection.unsent_bytes == 0);
  CHECK(waiting.backlog.empty());
  CHECK(waiting.taken == std::vector{1, 2, 3});
  CHECK(waiting.region.reading == 3);  // given back with each completion
}

TEST_CASE("lists of what waits are counted as one by one") {
  Waiting waiting;
  for (int i = 1; i <= 5; ++i) waiting.post(i, 10);
  const auto offer = [&](auto, std::size_t count) { return std::min(count, waiting.room); };
  const auto took = [&](Request&& request) { waiting.taken.push_back(request.number); };
  waiting.room = 1;  // of two
  waiting.backlog.flush_lists(waiting.connection, 2, offer, took);
  CHECK(waiting.connection.unsent_bytes == 40);
  CHECK(waiting.taken == std::vector{1});
  waiting.room = 2;
  waiting.backlog.flush_lists(waiting.connection, 2, offer, took);
  CHECK(waiting.connection.unsent_bytes == 0);
  CHECK(waiting.taken == std::vector{1, 2, 3, 4, 5});
}

TEST_CASE("nothing overtakes what waits, and what may change is copied when it has to wait") {
  Waiting waiting;
  std::byte changing{1};
  waiting.post({1, nullptr, true, &changing, 1, {}});
  changing = std::byte{2};
  waiting.room = 1;
  waiting.post(2, 8);
  CHECK(waiting.taken.empty());
  CHECK(waiting.backlog.begin()->owned == std::vector{std::byte{1}});
  waiting.flush(2);
  CHECK(waiting.taken == std::vector{1, 2});
}

TEST_CASE("a connection that breaks takes nothing, and what waited uses no memory after it was dropped") {
  Waiting waiting;
  waiting.post(1, 8);
  waiting.post(2, 8);
  CHECK(waiting.region.reading == 2);
  waiting.connection.break_down("its cable is out");
  waiting.post(3, 8);
  waiting.flush(3);
  CHECK(waiting.taken.empty());
  CHECK(waiting.region.reading == 2);
  waiting.backlog.drop();
  CHECK(waiting.region.reading == 0);
  CHECK(waiting.backlog.empty());
}

TEST_CASE("an offer that breaks the connection leaves nothing behind") {
  Waiting waiting;
  waiting.backlog.post(waiting.connection, {1, &waiting.region, false, nullptr, 8, {}}, [&](Request&) {
    waiting.connection.break_down("the provider gave up");
    return false;
  });
  CHECK(waiting.region.reading == 0);
  CHECK(waiting.connection.unsent_bytes == 0);
  CHECK(waiting.backlog.empty());
}

TEST_CASE("a peer that takes nothing for ever is given up") {
  Waiting waiting;
  for (int i = 0; i < 64; ++i) waiting.post({i, nullptr, false, nullptr, 0, std::vector<std::byte>(1U << 20U)});
  CHECK_FALSE(waiting.connection.broken());
  waiting.post({64, nullptr, false, nullptr, 0, std::vector<std::byte>(1)});
  CHECK(waiting.connection.broken());
}
