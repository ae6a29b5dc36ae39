// Whether a replica has its subgroup's state, and waiting for it: a member that joins gets the state after it has attached
// its object.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/handler_threads.hpp>

namespace spindrift::replicated {

class ReplicaState {
 public:
  explicit ReplicaState(std::shared_ptr<const group::HandlerThreads> handlers) : handlers_(std::move(handlers)) {}

  /// Any thread.
  [[nodiscard]] bool is_loaded() const noexcept { return !loading_.load(std::memory_order_acquire); }
  /// Any thread. Throws would_block in a handler, timed_out, and the reason for the group's end, if it is not loaded.
  void await_loaded(std::optional<Duration> limit) const;

  // The poller, or before it knows of the replica.
  void set_loading(bool loading);
  void end(const Error& why);

 private:
  const std::shared_ptr<const group::HandlerThreads> handlers_;
  std::atomic<bool> loading_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Error> ended_;  // behind the mutex
};

}  // namespace spindrift::replicated
