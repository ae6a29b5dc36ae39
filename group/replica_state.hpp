// Whether a replica has its subgroup's state, and waiting for it: a member that joins gets the state after it has attached
// its object. A node outside of the subgroup has none, and who cannot take the state gives up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/group/handler_threads.hpp>

namespace spindrift::replicated {

class ReplicaState {
 public:
  enum class Stage : std::uint8_t {
    outside,   ///< this node is not in the subgroup
    loading,   ///< the state is on its way
    here,      ///< deliveries keep it up
    given_up,  ///< the state cannot be taken here; for good
  };

  /// `subgroup`: its name.
  ReplicaState(std::shared_ptr<const group::HandlerThreads> handlers, std::string subgroup)
      : handlers_(std::move(handlers)), subgroup_(std::move(subgroup)) {}

  /// Any thread.
  [[nodiscard]] Stage stage() const noexcept { return stage_.load(std::memory_order_acquire); }
  [[nodiscard]] bool is_loaded() const noexcept {
    const Stage now = stage();
    return now == Stage::here || now == Stage::outside;
  }
  /// Any thread. Throws would_block in a handler, timed_out, and the reason for the end or for giving up, if it is not
  /// loaded.
  void await_loaded(std::optional<Duration> limit) const;

  /// It cannot be taken. Any thread.
  void give_up(const Error& why);
  /// Any thread. Why that is so.
  [[nodiscard]] std::optional<Error> refusal() const;
  /// Any thread. It was given up, and node `self` is to save it.
  [[nodiscard]] Error none_to_save(NodeId self) const;

  // The poller, or before it knows of the replica.
  void set(Stage stage);
  /// No state comes any more.
  void end(const Error& why);

 private:
  const std::shared_ptr<const group::HandlerThreads> handlers_;
  const std::string subgroup_;
  std::atomic<Stage> stage_{Stage::here};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Error> ended_;  // behind the mutex
};

}  // namespace spindrift::replicated
