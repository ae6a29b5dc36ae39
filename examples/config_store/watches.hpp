// Keys that somebody watches, and lines about their changes: they are written by a thread of their own, since the thread
// that makes the changes runs the group's protocol, and a terminal may stand still.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <thread>

#include "store.hpp"

namespace config_store {

/// All functions from any thread.
class Watches {
 public:
  void add(const std::string& key) {
    const std::lock_guard lock(mutex_);
    keys_.insert(key);
  }
  /// The changes that the log gives when the program starts come before any key is watched.
  void on_change(const std::string& key, const std::optional<Versioned>& now) {
    {
      const std::lock_guard lock(mutex_);
      if (!keys_.contains(key)) return;
      changes_.emplace_back(key, now);
    }
    changed_.notify_one();
  }

 private:
  void run(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<std::string> keys_;
  std::deque<std::pair<std::string, std::optional<Versioned>>> changes_;
  std::jthread thread_{[this](const std::stop_token& stop) { run(stop); }};  // the last, for it uses the rest
};

}  // namespace config_store
