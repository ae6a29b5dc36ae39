// Calls to revive a view that has lost its majority, from application threads to the poller, and what comes of them: each is
// over when the members that it names are in a view together.
#pragma once

#include <atomic>
#include <condition_variable>
#include <list>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <spindrift/core/clock.hpp>
#include <spindrift/core/ids.hpp>
#include <spindrift/core/result.hpp>
#include <spindrift/core/view.hpp>

namespace spindrift::views {
class Member;
}

namespace spindrift::group {

/// The word of those who run the group; see Group::revive.
struct Revive {
  std::vector<NodeId> members;
  bool force = false;
  bool operator==(const Revive&) const noexcept = default;
};

class ReviveCalls {
 public:
  /// `call_poller` is called when the poller has something to take. Waits until this member is in a view that came of it.
  /// Any thread that runs no handlers. Errors: as Group::revive.
  template <class CallPoller>
  [[nodiscard]] Result<View> revive(Revive revive, std::optional<Duration> limit, const CallPoller& call_poller) {
    const auto call = begin(std::move(revive));
    call_poller();
    return await(call, limit);
  }

  // The poller.
  [[nodiscard]] bool any() const noexcept { return any_.load(std::memory_order_seq_cst); }
  void take(views::Member& member);
  /// All members of the present view are in it.
  void on_active(const View& view);
  /// This member is in no view any more.
  void on_end(const Error& why);

 private:
  struct Call {
    Revive revive;
    std::optional<ViewId> of{};  ///< the view that is to be revived, once it is taken
    std::optional<Result<View>> outcome{};
  };

  [[nodiscard]] std::list<Call>::iterator begin(Revive revive);
  [[nodiscard]] Result<View> await(std::list<Call>::iterator call, std::optional<Duration> limit);

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // Behind the mutex:
  std::list<Call> calls_;
  std::optional<Error> end_;
};

}  // namespace spindrift::group
