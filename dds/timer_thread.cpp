// The thread that looks at what is due.
#include <spindrift/dds/timer_thread.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <spindrift/core/limits.hpp>

namespace spindrift::topics {

namespace {
// Lengths of time are an application's, and may be a nanosecond: the monitor is for others, too.
constexpr std::int64_t pause_ns_min = 1'000'000;
}  // namespace

void TimerThread::start() {
  thread_ = value_or_throw(start_thread([this] { run(); }));
}

void TimerThread::stop() {
  {
    const std::lock_guard lock(monitor_.mutex);
    stops_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void TimerThread::add(const EndpointId& id, Check check) {
  timers_.insert_or_assign(id, Timer{std::move(check), 0});
  look_again();
}

void TimerThread::look_again() {
  for (auto& [id, timer] : timers_) timer.due_ns = 0;
  looks_again_ = true;
  wake_.notify_all();
}

std::int64_t TimerThread::check_timers() {
  const std::int64_t now = steady_ns();
  std::int64_t next = endless;
  for (auto& [id, timer] : timers_) {
    if (timer.due_ns <= now) timer.due_ns = std::max(timer.check(now), now + pause_ns_min);
    next = std::min(next, timer.due_ns);
  }
  return next;
}

void TimerThread::run() {
  std::unique_lock lock(monitor_.mutex);
  while (!stops_) {
    looks_again_ = false;
    const std::int64_t due = check_timers();
    const auto woken = [&] { return stops_ || looks_again_; };
    if (due == endless)
      wake_.wait(lock, woken);
    else
      wake_.wait_for(lock, std::chrono::nanoseconds(std::max<std::int64_t>(due - steady_ns(), 0)), woken);
  }
}

}  // namespace spindrift::topics
