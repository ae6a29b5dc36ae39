// The state of a group that the poller and the application's threads share: the poller publishes, the others look and wait.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/forks.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

/// A member's state as of the poller's last pass. Threads: any, but for those under "the poller".
class SharedState {
 public:
  using FailureHandler = std::function<void(const Error&)>;

  explicit SharedState(NodeId self) noexcept : self_(self) {}

  // The poller.
  void on_view(const View& view);
  /// Whether a state of some subgroup is on its way to this member's application.
  void on_loading(bool loading);
  /// Returns the failure handler that the application has set, if it is to be called now.
  [[nodiscard]] FailureHandler on_state(views::MemberState state, const std::optional<Error>& failure);

  /// Whether a view came within that time. Throws the failure that came instead.
  [[nodiscard]] bool await_first_view(Duration limit) const;
  /// Returns when this member has left. Throws the failure that came instead.
  void await_end() const;
  /// The same for that long. False: it has not ended.
  [[nodiscard]] bool await_end(Duration limit) const;
  /// Waits until no state is on its way here. Throws timed_out, and the reason for the end that came instead.
  void await_loaded(std::optional<Duration> limit) const;
  [[nodiscard]] bool loading() const noexcept { return loading_.load(std::memory_order_seq_cst); }
  /// In the group, and not leaving.
  [[nodiscard]] bool open() const noexcept { return open_.load(std::memory_order_seq_cst); }
  /// It has lost the majority of its view, and waits.
  [[nodiscard]] bool stranded() const;
  void close() noexcept { open_.store(false, std::memory_order_seq_cst); }

  [[nodiscard]] View view() const;
  [[nodiscard]] SubgroupView subgroup(SubgroupId id) const;
  [[nodiscard]] bool is_sender(SubgroupId id) const { return subgroup(id).sender_rank(self_).has_value(); }
  /// Why a send would have to wait for more than space. Empty: it would not.
  [[nodiscard]] std::string blocked(SubgroupId id) const;
  /// Throws the failure, or group_closed, unless this member is in the group and does not leave.
  void check_open() const;
  /// Throws if waiting for space in this subgroup would be in vain.
  void check_may_send(SubgroupId id) const;
  /// Calls it. What it throws is logged: the member has ended already.
  void call(const FailureHandler& handler, const Error& failure) const;
  /// `handler` is called here and now if the failure has come already.
  void set_failure_handler(FailureHandler handler);

  /// False: a child that the member's process has forked, which has nothing of the group.
  [[nodiscard]] bool is_of_this_process() const noexcept { return generation_ == process_generation(); }
  /// Throws bad_argument in such a child.
  void check_process() const;

  [[nodiscard]] std::string own_name() const { return "node " + std::to_string(self_.value()); }

 private:
  void check_open_unlocked() const;

  const NodeId self_;
  const std::uint32_t generation_ = process_generation();
  std::atomic<bool> open_{false};
  std::atomic<bool> loading_{false};  // written behind the mutex
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  // Behind the mutex:
  views::MemberState state_ = views::MemberState::looking;
  bool was_active_ = false;
  View view_;
  std::optional<Error> failure_;
  FailureHandler failure_handler_;
};

}  // namespace spindrift::group
