// The line in which a pair's receives wait, and what is remembered of what is over.
#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <random>

#include <spindrift/kernel/queue.hpp>

using spindrift::kernel::Queue;
using spindrift::kernel::Recent;

TEST_CASE("a queue gives what it was given, in that order, however full it was between") {
  std::mt19937 random(1);
  Queue<int> queue;
  std::deque<int> expected;
  int next = 0;
  for (int step = 0; step < 20'000; ++step) {
    const bool fills = step / 1000 % 2 == 0;
    if (random() % 3 != 0 ? fills : !fills) {
      queue.push_back(next);
      expected.push_back(next++);
    } else if (!expected.empty()) {
      REQUIRE(queue.front() == expected.front());
      queue.pop_front();
      expected.pop_front();
    }
    REQUIRE(queue.empty() == expected.empty());
    if (step % 100 == 0) REQUIRE(std::equal(queue.all().begin(), queue.all().end(), expected.begin(), expected.end()));
  }
  queue.clear();
  CHECK(queue.empty());
  CHECK(queue.all().empty());
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
