// From calls to views.
#include <spindrift/group/roster_calls.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include <spindrift/group/call_outcome.hpp>

namespace spindrift::group {

// A change that a view grants is no part of the call any more: it may be undone later, by others.
void RosterCalls::settle(Call& call) const {
  std::erase_if(call.left, [&](const RosterChange& change) { return in_effect(view_.roster, change); });
  if (call.left.empty()) {
    call.outcome = view_.roster;
  } else if (auto possible = check(view_.roster, call.left, view_); !possible) {
    call.outcome = std::move(possible).error();
  }
}

Result<std::list<RosterCalls::Call>::iterator> RosterCalls::begin(const std::vector<RosterChange>& changes) {
  SPINDRIFT_TRY(check_count(changes));
  const std::lock_guard lock(mutex_);
  if (end_) return *end_;
  const auto call = calls_.insert(calls_.end(), Call{changes, {}});
  if (active_ || changes.empty()) settle(*call);  // a question is answered at once
  if (call->outcome) return call;
  untaken_.insert(untaken_.end(), call->left.begin(), call->left.end());
  any_.store(true, std::memory_order_seq_cst);
  return call;
}

Result<Roster> RosterCalls::await(std::list<Call>::iterator call, std::optional<Duration> limit) {
  const std::string late =
      "the members have not agreed on the roster in time: the change is still wanted, and may come to be";
  return await_outcome(
      mutex_, changed_, calls_, call, limit,
      Error(ErrorKind::timed_out, late)
          .fix("see that all members are well (spindrift group why), and ask again: what is done costs nothing"));
}

std::vector<RosterChange> RosterCalls::take() {
  const std::lock_guard lock(mutex_);
  any_.store(false, std::memory_order_seq_cst);
  return std::exchange(untaken_, {});
}

void RosterCalls::on_view(const View& view) {
  const std::lock_guard lock(mutex_);
  view_ = view;
  active_ = false;
}

void RosterCalls::on_active() {
  const std::lock_guard lock(mutex_);
  active_ = true;
  for (Call& call : calls_) {
    if (!call.outcome) settle(call);
  }
  changed_.notify_all();
}

void RosterCalls::on_end(const Error& why, const Roster* left_with) {
  const std::lock_guard lock(mutex_);
  end_ = why;
  const Error unknown = Error(why.kind(), why.message() + ", before it saw what became of the change")
                            .fix("see the roster at another member: spindrift group roster --through ID");
  for (Call& call : calls_) {
    if (call.outcome) continue;
    const auto granted = [&](const RosterChange& change) { return in_effect(*left_with, change); };
    call.outcome = left_with != nullptr && std::ranges::all_of(call.left, granted) ? Result<Roster>(*left_with) : unknown;
  }
  changed_.notify_all();
}

}  // namespace spindrift::group
