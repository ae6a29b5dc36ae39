// From calls to members.
#include <spindrift/group/revive_calls.hpp>

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
  std::unique_lock lock(mutex_);
  const auto is_over = [&] { return call->outcome.has_value(); };
  const bool over = limit ? changed_.wait_for(lock, *limit, is_over) : (changed_.wait(lock, is_over), true);
  Result<View> outcome =
      over ? *std::move(call->outcome)
           : Error(ErrorKind::timed_out, "the members that are named have not agreed in time: they are still told to go on, "
                                         "and may")
                 .fix("see that each of them has lost the majority, and trusts the others: spindrift group why, there");
  calls_.erase(call);
  return outcome;
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
