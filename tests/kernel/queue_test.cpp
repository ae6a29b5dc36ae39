// The first of a queue, and what is remembered of what is over.
#include <catch2/catch.hpp>

#include <deque>

#include <spindrift/kernel/queue.hpp>

using spindrift::kernel::Recent;
using spindrift::kernel::take_first;

TEST_CASE("the first of a queue is out then, and an empty one gives nothing") {
  std::deque<int> queue{1, 2};
  CHECK(take_first(queue) == 1);
  CHECK(take_first(queue) == 2);
  CHECK_FALSE(take_first(queue));
}

TEST_CASE("of what is over the last are remembered, each once, and no more than so many") {
  Recent<int> recent;
  const int most = Recent<int>::most;
  CHECK_FALSE(recent.contains(0));
  for (int i = 0; i < most; ++i) {
    recent.add(i);
    recent.add(i);
  }
  for (int i = 0; i < most; ++i) CHECK(recent.contains(i));
  recent.add(most);
  CHECK_FALSE(recent.contains(0));
  CHECK(recent.contains(1));
  CHECK(recent.contains(most));
}
