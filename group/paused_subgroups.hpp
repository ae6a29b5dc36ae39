// The subgroups whose handlers the application has paused, as its threads say it and the poller reads it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>

#include <spindrift/core/ids.hpp>

namespace spindrift::group {

/// Any thread.
class PausedSubgroups {
 public:
  void add(SubgroupId id, std::uint64_t now_ms) {
    const std::lock_guard lock(mutex_);
    since_ms_[id] = now_ms;
    any_.store(true, std::memory_order_seq_cst);
  }
  void remove(SubgroupId id) {
    const std::lock_guard lock(mutex_);
    since_ms_.erase(id);
    any_.store(!since_ms_.empty(), std::memory_order_seq_cst);
  }
  /// Cheap: the poller asks on every pass.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  /// Since when, by the wall clock.
  [[nodiscard]] std::map<SubgroupId, std::uint64_t> all() const {
    const std::lock_guard lock(mutex_);
    return since_ms_;
  }

 private:
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  std::map<SubgroupId, std::uint64_t> since_ms_;
};

}  // namespace spindrift::group
