// Waiting for conditions: they are looked at whenever one may have changed.
#include <spindrift/dds/cond.hpp>

#include <algorithm>
#include <atomic>

#include <spindrift/dds/entities.hpp>
#include <spindrift/dds/status_board.hpp>

namespace dds::core::cond {

using spindrift::topics::ProcessBell;

struct GuardCondition::Flag {
  std::atomic<bool> set{false};
};

GuardCondition::GuardCondition() : flag_(std::make_shared<Flag>()) {
  delegate_ = std::make_shared<spindrift::topics::ConditionBody>();
  delegate_->holds = [flag = flag_] { return flag->set.load(); };
}
void GuardCondition::trigger_value(bool value) {
  flag_->set.store(value);
  ProcessBell::of_process().ring();
}

void WaitSet::attach_condition(const Condition& condition) {
  static_cast<void>(condition.delegate());
  if (std::find(attached_.begin(), attached_.end(), condition) == attached_.end()) attached_.push_back(condition);
}
bool WaitSet::detach_condition(const Condition& condition) { return std::erase(attached_, condition) > 0; }

WaitSet::ConditionSeq WaitSet::wait(const Duration& limit) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point now = Clock::now();
  const std::chrono::nanoseconds length(limit.to_nanosecs());
  const Clock::time_point end = length >= Clock::time_point::max() - now ? Clock::time_point::max() : now + length;
  for (;;) {
    const std::uint64_t rung = ProcessBell::of_process().rung();
    ConditionSeq held;
    for (const Condition& each : attached_) {
      if (each.trigger_value()) held.push_back(each);
    }
    if (!held.empty()) return held;
    if (Clock::now() >= end) throw TimeoutError("no condition of the wait-set held within the time; wait longer");
    spindrift::topics::outside([&] { ProcessBell::of_process().wait(rung, end); });
  }
}

void WaitSet::dispatch(const Duration& limit) {
  for (Condition& each : wait(limit)) each.dispatch();
}

}  // namespace dds::core::cond
