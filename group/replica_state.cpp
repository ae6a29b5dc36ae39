// Waiting for a state.
#include <spindrift/group/replica_state.hpp>

#include <chrono>
#include <string>

namespace spindrift::replicated {

void ReplicaState::set(Stage stage) {
  {
    const std::lock_guard lock(mutex_);
    if (stage_.load(std::memory_order_relaxed) != Stage::given_up) stage_.store(stage, std::memory_order_release);
  }
  changed_.notify_all();
}

void ReplicaState::give_up(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    ended_ = why;
    stage_.store(Stage::given_up, std::memory_order_release);
  }
  changed_.notify_all();
}

std::optional<Error> ReplicaState::refusal() const {
  if (stage() != Stage::given_up) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return ended_;
}

Error ReplicaState::none_to_save(NodeId self) const {
  return Error(ErrorKind::refused, "node " + std::to_string(self.value()) +
                                       " was asked for the state of the replicated object in subgroup " + subgroup_ +
                                       ", which it could not take itself");
}

void ReplicaState::end(const Error& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = why;
  }
  changed_.notify_all();
}

void ReplicaState::await_loaded(std::optional<Duration> limit) const {
  if (handlers_->is_beside()) {
    handlers_->note_refusal();
    throw Exception(Error(ErrorKind::would_block, "a method that runs again for a checkpoint starts no calls, and reads no "
                                                  "other object: it called the object of subgroup " + subgroup_ +
                                                  " when it ran first")
                        .fix("let updates change their own object alone"));
  }
  if (is_loaded()) return;
  if (stage() == Stage::loading && handlers_->is_one()) {
    throw Exception(Error(ErrorKind::would_block, "the state of the replicated object of subgroup " + subgroup_ +
                                                  " is still on its way here, and a handler cannot wait for it")
                        .fix("call loaded() on a thread of the application first"));
  }
  std::unique_lock lock(mutex_);
  const auto over = [&] { return is_loaded() || ended_.has_value(); };
  if (!limit) {
    changed_.wait(lock, over);
  } else if (!changed_.wait_for(lock, *limit, over)) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(*limit).count();
    throw Exception(Error(ErrorKind::timed_out, "the state of the replicated object of subgroup " + subgroup_ +
                                                    " did not come within " + std::to_string(milliseconds) + " ms")
                        .fix("wait longer, or see what it waits for: spindrift group why"));
  }
  if (!is_loaded()) throw Exception(*ended_);
}

}  // namespace spindrift::replicated
