// The threads on which participants end whose last references listeners dropped.
#pragma once

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace spindrift::topics {

/// Any thread.
class Endings {
 public:
  ~Endings() { await(); }
  static Endings& of_process() {
    static Endings endings;
    return endings;
  }
  void add(std::thread thread) {
    const std::lock_guard lock(mutex_);
    threads_.push_back(std::move(thread));
  }
  void await() {
    std::vector<std::thread> threads;
    {
      const std::lock_guard lock(mutex_);
      threads.swap(threads_);
    }
    for (std::thread& each : threads) each.join();
  }

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

}  // namespace spindrift::topics
