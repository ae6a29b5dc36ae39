// Runs of messages with one time. Clocks may be read before the mutex is taken: whichever of two comes second sees the
// other.
#include <spindrift/group/log_stamps.hpp>

#include <algorithm>

namespace spindrift::group {

std::uint64_t LogStamps::stamp(SubgroupId log, std::uint64_t end, std::uint64_t now, std::uint64_t least) {
  const std::lock_guard lock(mutex_);
  Log& of = logs_[log];
  const std::uint64_t time = std::max({now, least, settled_});
  of.end = end;
  if (of.runs.empty() || of.runs.back().time != time) {
    of.runs.push_back({end, time});
  } else {
    of.runs.back().end = end;
  }
  return time;
}

std::uint64_t LogStamps::stamp_as(SubgroupId log, std::uint64_t end, std::uint64_t time) {
  const std::lock_guard lock(mutex_);
  logs_[log].end = end;
  return std::max(time, settled_);
}

void LogStamps::begin_anew(SubgroupId log, std::uint64_t version) {
  const std::lock_guard lock(mutex_);
  logs_[log] = {.end = version};
}

std::optional<std::uint64_t> LogStamps::of(SubgroupId log, std::uint64_t version) const {
  const std::lock_guard lock(mutex_);
  return find(log, version);
}

void LogStamps::forget(SubgroupId log, std::uint64_t below) {
  const std::lock_guard lock(mutex_);
  const auto of = logs_.find(log);
  if (of == logs_.end()) return;
  std::deque<Run>& runs = of->second.runs;
  while (!runs.empty() && runs.front().end <= below) runs.pop_front();
}

// Messages of the log without a run came from another node, and are not with the application yet.
std::uint64_t LogStamps::settled(SubgroupId log, std::uint64_t applied, std::uint64_t now) {
  const std::lock_guard lock(mutex_);
  const auto of = logs_.find(log);
  if (of != logs_.end() && of->second.end > applied) return find(log, applied).value_or(0);
  settled_ = std::max(settled_, now);
  return settled_;
}

std::optional<std::uint64_t> LogStamps::find(SubgroupId log, std::uint64_t version) const {
  const auto of = logs_.find(log);
  if (of == logs_.end()) return std::nullopt;
  const std::deque<Run>& runs = of->second.runs;
  const auto run = std::ranges::upper_bound(runs, version, {}, &Run::end);
  if (run == runs.end()) return std::nullopt;
  return run->time;
}

}  // namespace spindrift::group
