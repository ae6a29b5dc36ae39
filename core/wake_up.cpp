// Two threads that wait for each other in turn.
#include <spindrift/core/wake_up.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace spindrift {

Duration measured_wake_up(const Clock& clock) {
  constexpr int rounds = 11;
  std::mutex mutex;
  std::condition_variable turned;
  int turn = 0;  // even: the caller's
  const auto take_turn = [&](int mine) {
    std::unique_lock lock(mutex);
    turned.wait(lock, [&] { return turn == mine; });
    ++turn;
    turned.notify_one();
  };

  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) take_turn(2 * round + 1);
  });
  std::array<Duration, rounds> took{};
  for (int round = 0; round < rounds; ++round) {
    const Time before = clock.now();
    take_turn(2 * round);
    std::unique_lock lock(mutex);
    turned.wait(lock, [&] { return turn == 2 * round + 2; });
    took[static_cast<std::size_t>(round)] = (clock.now() - before) / 2;
  }
  other.join();
  std::nth_element(took.begin(), took.begin() + rounds / 2, took.end());
  return took[rounds / 2];
}

}  // namespace spindrift
