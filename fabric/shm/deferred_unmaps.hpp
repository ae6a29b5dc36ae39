// Unmaps a little later on the watcher's thread: it takes up to a millisecond for a few MiB, which a poller in the middle of
// a view change does not have, nor the time that waking the thread at once would take from it.
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include <spindrift/core/check.hpp>
#include <spindrift/core/file_descriptor.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/fabric/shm/readiness.hpp>
#include <spindrift/fabric/shm/region.hpp>

namespace spindrift::fabric::shm {

class DeferredUnmaps {
 public:
  /// `on_timer` is to be called when that tag is ready. Errors: resource.
  [[nodiscard]] Result<void> open(const Readiness& readiness, std::uint64_t tag) {
    timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer_) return system_error("timerfd_create", errno).fix("raise the limit of open files");
    return readiness.watch(timer_.get(), tag);
  }
  /// The poller. At once if nobody has opened this.
  void add(Mapping mapping) {
    if (!timer_) return;
    const std::lock_guard lock(mutex_);
    mappings_.push_back(std::move(mapping));
    if (mappings_.size() > 1) return;
    itimerspec when{};
    when.it_value.tv_nsec = delay_ns;
    CHECK(::timerfd_settime(timer_.get(), 0, &when, nullptr) == 0);
  }
  /// Unmaps outside the lock, which the poller may want meanwhile.
  void on_timer() {
    std::vector<Mapping> due;
    const std::lock_guard lock(mutex_);
    std::uint64_t count = 0;
    CHECK(::read(timer_.get(), &count, sizeof count) == sizeof count);  // it is set anew only when none is deferred
    due.swap(mappings_);
  }

 private:
  static constexpr long delay_ns = 50'000'000;

  FileDescriptor timer_;  ///< set while `mappings_` is not empty
  std::mutex mutex_;
  std::vector<Mapping> mappings_;
};

}  // namespace spindrift::fabric::shm
