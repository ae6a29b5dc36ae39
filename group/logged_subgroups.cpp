// Replays, one behind the other.
#include <spindrift/group/logged_subgroups.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {

void LoggedSubgroups::replay(SubgroupId id, std::uint64_t to) {
  if (const auto at = replays_.find(id); at != replays_.end()) {
    at->second.to = std::max(at->second.to, to);
  } else if (to > given_[id]) {
    replays_.emplace(id, Replay{read(id, to), to});
  }
}

std::uint64_t LoggedSubgroups::time(SubgroupId id, std::uint64_t version) {
  const auto replay = replays_.find(id);
  auto time = replay == replays_.end() ? std::nullopt : replay->second.reading->time(version);
  if (!time) time = logs_.stamps().of(id, version);
  CHECK(time);
  return *time;
}

std::uint64_t LoggedSubgroups::settled(SubgroupId id, std::uint64_t applied) {
  return logs_.stamps().settled(id, applied, wall_clock_ns());
}

std::unique_ptr<LogReplay> LoggedSubgroups::read(SubgroupId id, std::uint64_t to) {
  return std::make_unique<LogReplay>(journal_, id, given_[id], to, wake_);
}

bool LoggedSubgroups::is_over(SubgroupId id, Replay& replay) {
  if (!replay.reading->done()) return false;
  if (replay.to <= given_[id]) return true;
  replay.reading = read(id, replay.to);
  return false;
}

}  // namespace spindrift::group
