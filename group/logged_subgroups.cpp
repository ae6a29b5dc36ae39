// Replays, one behind the other.
#include <spindrift/group/logged_subgroups.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {

void LoggedSubgroups::replay(SubgroupId id, std::uint64_t to) {
  if (const auto at = replays_.find(id); at != replays_.end()) {
    at->second.to = std::max(at->second.to, to);
  } else if (to > next(id)) {
    replays_.emplace(id, Replay{read(id, to), to});
  }
}

void LoggedSubgroups::on_durable(SubgroupId id, std::uint64_t version) {
  if (id.value() >= layout_.size()) return;
  const HistoryBounds& kept = layout_[id.value()].history;
  if (kept.any()) logs_.trim(id, kept, std::min(version, next(id)));
}

std::uint64_t LoggedSubgroups::next(SubgroupId id) const {
  const auto given = given_.find(id);
  return std::max(given == given_.end() ? 0 : given->second, logs_.first(id));
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
  return std::make_unique<LogReplay>(journal_, id, next(id), to, wake_);
}

bool LoggedSubgroups::is_over(SubgroupId id, Replay& replay) {
  if (!replay.reading->done()) return false;
  if (replay.to <= next(id)) return true;
  replay.reading = read(id, replay.to);
  return false;
}

}  // namespace spindrift::group
