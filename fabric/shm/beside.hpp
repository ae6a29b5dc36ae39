// Waits for the descriptors of the other part of a fabric of which shm is one: each is reported once until it is asked for
// again, for the poller, not the watcher's thread, takes what comes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <spindrift/core/result.hpp>
#include <spindrift/fabric/shm/bell.hpp>
#include <spindrift/fabric/shm/part.hpp>
#include <spindrift/fabric/shm/readiness.hpp>

namespace spindrift::fabric::shm {

class BesideWatch {
 public:
  /// Under the tags from `first_tag` on.
  BesideWatch(const Readiness& readiness, Bell& bell, std::uint64_t first_tag) noexcept
      : readiness_(readiness), bell_(bell), first_tag_(first_tag) {}

  // As of LocalPart.
  [[nodiscard]] Result<void> watch(const Beside& descriptors) {
    descriptors_ = descriptors;
    for (std::size_t i = 0; i < descriptors_.size(); ++i) {
      if (descriptors_[i] >= 0) SPINDRIFT_TRY(readiness_.watch(descriptors_[i], first_tag_ + i, EPOLLIN | EPOLLONESHOT));
    }
    return {};
  }
  [[nodiscard]] std::uint32_t ready() const noexcept { return ready_.load(std::memory_order_seq_cst); }
  void watch_again(std::uint32_t which) noexcept {
    ready_.fetch_and(~which, std::memory_order_seq_cst);
    for (std::size_t i = 0; i < descriptors_.size(); ++i) {
      if ((which >> i & 1U) != 0) readiness_.change(descriptors_[i], first_tag_ + i, EPOLLIN | EPOLLONESHOT);
    }
  }

  /// The watcher's thread. Noted before the sleep is ended: a poller that says that it sleeps looks at the note once more.
  void on_ready(std::uint64_t tag) noexcept {
    ready_.fetch_or(1U << (tag - first_tag_), std::memory_order_seq_cst);
    bell_.wake();
  }

 private:
  const Readiness& readiness_;
  Bell& bell_;
  const std::uint64_t first_tag_;
  Beside descriptors_{-1, -1, -1};
  std::atomic<std::uint32_t> ready_ = 0;
};

}  // namespace spindrift::fabric::shm
