// A thread for what the poller finds to do and may not wait for: sends.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace spindrift::topics {

class Errands {
 public:
  Errands() = default;
  ~Errands() { stop(); }
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  void start();
  /// Returns when the one that is under way is done; others are not begun.
  void stop();
  /// Any thread, also before `start`. What it throws is logged.
  void add(std::function<void()> errand);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace spindrift::topics
