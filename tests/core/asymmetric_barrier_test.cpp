// If two threads store and then look for each other, one must see the other.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include <spindrift/core/asymmetric_barrier.hpp>

using namespace spindrift;

TEST_CASE("of two threads with a light and a heavy barrier, at least one sees the other") {
  constexpr int rounds = 20'000;
  alignas(64) std::atomic<int> often{0};
  alignas(64) std::atomic<int> seldom{0};
  alignas(64) std::atomic<int> begun{0};
  alignas(64) std::atomic<int> done{0};
  int often_saw = 0;
  std::thread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      while (begun.load() < round) std::this_thread::yield();
      often.store(round, std::memory_order_relaxed);
      light_barrier();
      often_saw = seldom.load(std::memory_order_relaxed);
      done.store(round);
    }
  });
  int blind = 0;
  for (int round = 1; round <= rounds; ++round) {
    begun.store(round);
    seldom.store(round, std::memory_order_relaxed);
    heavy_barrier();
    const int seldom_saw = often.load(std::memory_order_relaxed);
    while (done.load() < round) std::this_thread::yield();
    blind += seldom_saw != round && often_saw != round ? 1 : 0;
  }
  other.join();
  CHECK(blind == 0);
}
