// From calls to members.
#include <spindrift/group/revive_calls.hpp>

#include <string>

#include <spindrift/group/call_outcome.hpp>
#include <spindrift/views/member.hpp>

namespace spindrift::group {

std::list<ReviveCalls::Call>::iterator ReviveCalls::begin(Revive revive) {
  const std::lock_guard lock(mutex_);
  const auto call = calls_.insert(calls_.end(), Call{std::move(revive)});
  if (end_) call->outcome = *end_;
  any_.store(true, std::memory_order_seq_cst);
  return call;
}

Result<View> ReviveCalls::await(std::list<Call>::iterator call, std::optional<Duration> limit) {
  const std::string late = "the members that are named have not agreed in time: they are still told to go on, and may";
  return await_outcome(mutex_, changed_, calls_, call, limit,
                       Error(ErrorKind::timed_out, late)
                           .fix("see that each of them has lost the majority, and trusts the others: spindrift group why, "
                                "there"));
}

void ReviveCalls::take(views::Member& member) {
  const std::lock_guard lock(mutex_);
  any_.store(false, std::memory_order_seq_cst);
  for (Call& call : calls_) {
    if (call.of || call.outcome) continue;
    call.of = member.epoch()->id();
    if (auto told = member.revive(call.revive.members, call.revive.force); !told) call.outcome = std::move(told).error();
  }
  changed_.notify_all();
}

void ReviveCalls::on_active(const View& view) {
  const std::lock_guard lock(mutex_);
  for (Call& call : calls_) {
    if (call.of && !call.outcome && *call.of < view.id) call.outcome = view;
  }
  changed_.notify_all();
}

void ReviveCalls::on_end(const Error& why) {
  const std::lock_guard lock(mutex_);
  end_ = why;
  for (Call& call : calls_) {
    if (!call.outcome) call.outcome = why;
  }
  changed_.notify_all();
}

}  // namespace spindrift::group
