// The thread that looks at what is due.
#include <catch2/catch.hpp>

#include <vector>

#include <spindrift/dds/timer_thread.hpp>

using namespace spindrift::topics;

namespace {

/// Waits until so many times are noted.
void await_count(Monitor& monitor, const std::vector<std::int64_t>& noted, std::size_t count) {
  std::unique_lock lock(monitor.mutex);
  REQUIRE(monitor.await(lock, 20'000'000'000, [&] { return noted.size() >= count; }));
}

}  // namespace

TEST_CASE("what is due at once, again and again, is looked at once a millisecond") {
  Monitor monitor;
  std::vector<std::int64_t> noted;
  TimerThread timers(monitor);
  timers.start();
  {
    const std::lock_guard lock(monitor.mutex);
    timers.add({1, 1, 1}, [&](std::int64_t now_ns) {
      noted.push_back(now_ns);
      monitor.changed.notify_all();
      return now_ns;
    });
  }
  await_count(monitor, noted, 21);
  timers.stop();
  CHECK(noted[20] - noted[0] >= 20 * 1'000'000);
}

TEST_CASE("what is due later is looked at then, and earlier where somebody says so") {
  Monitor monitor;
  std::vector<std::int64_t> noted;
  TimerThread timers(monitor);
  timers.start();
  {
    const std::lock_guard lock(monitor.mutex);
    timers.add({1, 1, 1}, [&](std::int64_t now_ns) {
      noted.push_back(now_ns);
      monitor.changed.notify_all();
      return noted.size() == 1 ? now_ns + 30'000'000 : endless;
    });
  }
  await_count(monitor, noted, 2);
  CHECK(noted[1] - noted[0] >= 30'000'000);
  {
    const std::lock_guard lock(monitor.mutex);
    CHECK(noted.size() == 2);
    timers.look_again();
  }
  await_count(monitor, noted, 3);
  timers.stop();
}
