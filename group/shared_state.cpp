// Publishing a member's state, and waiting for it.
#include <spindrift/group/shared_state.hpp>

#include <chrono>
#include <exception>
#include <utility>

#include <spindrift/core/log.hpp>

namespace spindrift::group {

using views::MemberState;

void SharedState::on_view(const View& view) {
  std::lock_guard lock(mutex_);
  view_ = view;
}

SharedState::FailureHandler SharedState::on_state(MemberState state, const std::optional<Error>& failure) {
  FailureHandler handler;
  {
    std::lock_guard lock(mutex_);
    state_ = state;
    if (state == MemberState::active && !std::exchange(was_active_, true)) open_.store(true, std::memory_order_seq_cst);
    if (state == MemberState::left || state == MemberState::failed) close();
    failure_ = failure;
    if (failure_) handler = std::move(failure_handler_);
  }
  changed_.notify_all();
  return handler;
}

bool SharedState::await_first_view(Duration limit) const {
  std::unique_lock lock(mutex_);
  const bool decided = changed_.wait_for(lock, limit, [&] { return was_active_ || failure_; });
  if (failure_) throw Exception(*failure_);
  return decided;
}

void SharedState::on_loading(bool loading) {
  {
    std::lock_guard lock(mutex_);
    loading_.store(loading, std::memory_order_seq_cst);
  }
  changed_.notify_all();
}

void SharedState::await_loaded(std::optional<Duration> limit) const {
  std::unique_lock lock(mutex_);
  const auto over = [&] { return !loading() || state_ == MemberState::left || state_ == MemberState::failed; };
  if (!limit) {
    changed_.wait(lock, over);
  } else if (!changed_.wait_for(lock, *limit, over)) {
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(*limit).count();
    throw Exception(Error(ErrorKind::timed_out, own_name() + " has not got the states and logs of its subgroups within " +
                                                    std::to_string(milliseconds) + " ms")
                        .fix("set the handlers of all subgroups first: nothing comes without them; or wait longer, for "
                             "handlers are given a whole log"));
  }
  if (loading()) check_open_unlocked();
}

void SharedState::await_end() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return state_ == MemberState::left || state_ == MemberState::failed; });
  if (failure_) throw Exception(*failure_);
}

bool SharedState::await_end(Duration limit) const {
  std::unique_lock lock(mutex_);
  const auto ended = [&] { return state_ == MemberState::left || state_ == MemberState::failed; };
  if (!changed_.wait_for(lock, limit, ended)) return false;
  if (failure_) throw Exception(*failure_);
  return true;
}

View SharedState::view() const {
  std::lock_guard lock(mutex_);
  return view_;
}

SubgroupView SharedState::subgroup(SubgroupId id) const {
  std::lock_guard lock(mutex_);
  return view_.subgroup(id);
}

bool SharedState::stranded() const {
  std::lock_guard lock(mutex_);
  return state_ == MemberState::stranded;
}

std::string SharedState::blocked(SubgroupId id) const {
  std::lock_guard lock(mutex_);
  if (const std::string& reason = view_.subgroup(id).inadequate; !reason.empty()) return reason;
  if (state_ == MemberState::stranded) return "the majority of the view is lost";
  if (views::is_between_views(state_)) return "the view is changing";
  return {};
}

void SharedState::check_process() const {
  if (is_of_this_process()) return;
  throw Exception(Error(ErrorKind::bad_argument, own_name() + " is its parent's: a process that was forked is no member")
                      .fix("make a group of its own in the child, or let it execute another program"));
}

void SharedState::check_open_unlocked() const {
  if (failure_) throw Exception(*failure_);
  if (!open()) {
    throw Exception(Error(ErrorKind::group_closed, own_name() + (state_ == MemberState::left ? " has left the group"
                                                                                             : " is leaving the group")));
  }
}

void SharedState::check_open() const {
  std::lock_guard lock(mutex_);
  check_open_unlocked();
}

// A thread that only has to wait gets no error; one that would wait for what never comes does.
void SharedState::check_may_send(SubgroupId id) const {
  std::lock_guard lock(mutex_);
  check_open_unlocked();
  const SubgroupView& subgroup = view_.subgroup(id);
  if (state_ != MemberState::active || !subgroup.inadequate.empty() || subgroup.sender_rank(self_)) return;
  if (subgroup.member_position(self_)) {
    throw Exception(Error(ErrorKind::bad_argument, own_name() + " is no sender of subgroup " + subgroup.name)
                        .fix("add it to the subgroup's senders in the layout"));
  }
  throw Exception(Error(ErrorKind::bad_argument, own_name() + " is no member of subgroup " + subgroup.name)
                      .fix("add it to the subgroup's members in the layout, or ask one of them: query_at, send_private"));
}

void SharedState::call(const FailureHandler& handler, const Error& failure) const {
  try {
    handler(failure);
  } catch (const std::exception& thrown) {
    log::error(log::Room::group, "on_failure threw", {{"node", self_}, {"reason", thrown.what()}});
  } catch (...) {
    log::error(log::Room::group, "on_failure threw", {{"node", self_}, {"reason", "what is no std::exception"}});
  }
}

void SharedState::set_failure_handler(FailureHandler handler) {
  if (!handler) throw Exception(Error(ErrorKind::bad_argument, "on_failure needs a handler").fix("give it a function"));
  std::unique_lock lock(mutex_);
  if (!failure_) {
    failure_handler_ = std::move(handler);
    return;
  }
  const Error failure = *failure_;
  lock.unlock();
  handler(failure);
}

}  // namespace spindrift::group
