// From calls to the poller.
#include <spindrift/group/trim_calls.hpp>

#include <utility>

#include <spindrift/group/call_outcome.hpp>

namespace spindrift::group {

std::list<TrimCalls::Call>::iterator TrimCalls::begin(Call begun) {
  const std::lock_guard lock(mutex_);
  const auto call = calls_.insert(calls_.end(), std::move(begun));
  if (end_) call->outcome = *end_;
  any_.store(true, std::memory_order_seq_cst);
  return call;
}

Result<std::uint64_t> TrimCalls::await(std::list<Call>::iterator call, std::optional<Duration> limit) {
  return await_outcome(mutex_, changed_, calls_, call, limit,
                       Error(ErrorKind::timed_out, "this member is at work, and has not come to trim its log in time")
                           .fix("see what it does: spindrift group why"));
}

void TrimCalls::on_end(const Error& why) {
  const std::lock_guard lock(mutex_);
  end_ = why;
  for (Call& call : calls_) {
    if (!call.outcome) call.outcome = why;
  }
  changed_.notify_all();
}

}  // namespace spindrift::group
