// Listening at a port, without a pool.
#include <catch2/catch.hpp>

#include <spindrift/kernel/listener.hpp>

using namespace spindrift;
using namespace spindrift::kernel;

namespace {

PendingCall call_of(std::uint32_t node, std::uint64_t pair) {
  PendingCall call;
  call.header.node = node;
  call.header.start = 7;
  call.header.from = pair;
  return call;
}

}  // namespace

TEST_CASE("a listener knows its callers' pairs until they are closed") {
  CompletionQueue completions(4);
  Listener listener(completions, 2);
  const CallerId first{1, 10};
  const CallerId second{1, 11};
  CHECK_FALSE(listener.find(first));
  listener.accept(first, PairId(100));
  CHECK(listener.find(first) == PairId(100));
  CHECK_FALSE(listener.find(second));
  CHECK_FALSE(listener.full());
  listener.accept(second, PairId(101));
  CHECK(listener.full());
  listener.close(first, PairId(100), false);
  CHECK_FALSE(listener.find(first));
  CHECK_FALSE(listener.full());
  CHECK(listener.find(second) == PairId(101));
}

TEST_CASE("a listener remembers whom it heard, and nobody else") {
  CompletionQueue completions(4);
  Listener listener(completions, 8);
  const CallerId heard{1, 10};
  const CallerId unheard{1, 11};
  listener.accept(heard, PairId(100));
  listener.accept(unheard, PairId(101));
  CHECK_FALSE(listener.has_heard(heard));
  listener.close(heard, PairId(100), true);
  listener.close(unheard, PairId(101), false);
  CHECK(listener.has_heard(heard));
  CHECK_FALSE(listener.has_heard(unheard));
  CHECK_FALSE(listener.has_heard({2, 10}));
}

TEST_CASE("a listener tells newcomers and messages once each, the oldest first, and nothing of closed pairs") {
  CompletionQueue completions(4);
  Listener listener(completions, 8);
  for (std::uint64_t pair = 0; pair < 4; ++pair) {
    listener.accept({1, pair}, PairId(100 + pair));
    listener.announce(PairId(100 + pair));
  }
  CHECK(listener.take_newcomer() == PairId(100));
  CHECK(listener.take_ready() == PairId(100));
  listener.close({1, 1}, PairId(101), true);
  listener.withdraw(PairId(102));
  CHECK(listener.take_newcomer() == PairId(102));
  CHECK(listener.take_ready() == PairId(103));
  CHECK_FALSE(listener.take_ready());
  CHECK(listener.take_newcomer() == PairId(103));
  CHECK_FALSE(listener.take_newcomer());
}

TEST_CASE("calls wait in the order of their coming, one of each caller and no more than there is room for") {
  PendingCalls calls;
  CHECK(calls.empty());
  for (std::uint64_t pair = 0; pair < PendingCalls::most; ++pair) REQUIRE(calls.add(call_of(1, pair)));
  CHECK(calls.add(call_of(1, 5)));        // it waits already
  CHECK_FALSE(calls.add(call_of(2, 5)));  // another node's
  const auto taken = calls.take();
  REQUIRE(taken.size() == PendingCalls::most);
  for (std::uint64_t pair = 0; pair < PendingCalls::most; ++pair)
    CHECK(taken[pair].caller() == CallerId{1ULL << 32 | 7, pair});
  CHECK(calls.empty());
  CHECK(calls.add(call_of(2, 5)));
}
