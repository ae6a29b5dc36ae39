// A thread beside the poller for the states of a subgroup: it saves and loads them, writes what comes of them, and closes
// their files, one after the other in the order in which that was asked for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

namespace spindrift::group {

class StateThread {
 public:
  using Work = std::function<void()>;  ///< throws nothing

  StateThread() = default;
  StateThread(const StateThread&) = delete;
  StateThread& operator=(const StateThread&) = delete;

  // One thread, the poller:
  /// Starts the thread before the first work. Throws resource, and has nothing then.
  void give(Work work);
  /// Has the thread destroy `what`: to close a file of some gigabytes takes seconds, in which the poller shows no sign of
  /// life. Destroys it at once where nothing was ever given, and after `stop`.
  void dispose(std::shared_ptr<void> what) noexcept;
  /// Waits until the work at hand has returned. What waits is not called any more.
  void stop();

 private:
  void put(Work work);
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any given_;
  std::deque<Work> works_;  // behind the mutex
  std::jthread thread_;     // from the first work on
};

}  // namespace spindrift::group
