// The thread that looks at what is due: deadlines, leases, and samples that are to go. Listeners do not hold it up.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include <spindrift/dds/endpoint.hpp>
#include <spindrift/dds/status_board.hpp>

namespace spindrift::topics {

class TimerThread {
 public:
  explicit TimerThread(Monitor& monitor) : monitor_(monitor) {}
  ~TimerThread() { stop(); }
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  void start();
  void stop();

  // With the monitor held:
  /// `check(now)` looks at what is due, and returns when it is to be called next; both on the steady clock.
  using Check = std::function<std::int64_t(std::int64_t now_ns)>;
  void add(const EndpointId& id, Check check);
  void remove(const EndpointId& id) { timers_.erase(id); }
  /// Something may be due earlier than was said.
  void look_again();

 private:
  struct Timer {
    Check check;
    std::int64_t due_ns;
  };
  void run();
  [[nodiscard]] std::int64_t check_timers();

  Monitor& monitor_;
  std::condition_variable wake_;
  std::map<EndpointId, Timer> timers_;
  bool looks_again_ = false;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace spindrift::topics
