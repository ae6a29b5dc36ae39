// Replays, one behind the other.
#include <spindrift/group/logged_subgroups.hpp>

#include <algorithm>

#include <spindrift/core/check.hpp>
#include <spindrift/group/status.hpp>

namespace spindrift::group {

void LoggedSubgroups::replay(SubgroupId id, std::uint64_t to) {
  if (const auto at = replays_.find(id); at != replays_.end()) {
    at->second.to = std::max(at->second.to, to);
  } else if (to > next(id) || lacks_state(id)) {
    replays_.emplace(id, Replay{read(id, std::max(to, next(id))), to});
  }
}

bool LoggedSubgroups::lacks_state(SubgroupId id) const {
  const std::uint64_t had = given(id);
  return had < logs_.first(id) || (had == 0 && logs_.checkpoint(id) != nullptr);
}

// It has been read from the beginning of the log on meanwhile.
void LoggedSubgroups::begin_at(SubgroupId id, std::uint64_t version) {
  given_[id] = version;
  const auto at = replays_.find(id);
  if (at == replays_.end()) return;
  at->second.to = std::max(at->second.to, version);
  at->second.reading = read(id, at->second.to);
}

void LoggedSubgroups::on_durable(SubgroupId id, std::uint64_t version, Use use) {
  if (id.value() >= layout_.size()) return;
  const HistoryBounds& kept = layout_[id.value()].history;
  if (!kept.any()) return;
  std::uint64_t limit = std::min(version, next(id));
  if (use == Use::object) {
    const store::Checkpoint* const state = logs_.durable_checkpoint(id);
    limit = std::min(limit, state == nullptr ? 0 : state->version.value());
  }
  logs_.trim(id, kept, limit);
}

std::optional<std::uint64_t> LoggedSubgroups::next_checkpoint(SubgroupId id, std::uint64_t durable) {
  if (id.value() >= layout_.size()) return std::nullopt;
  const HistoryBounds& kept = layout_[id.value()].history;
  const std::uint64_t limit = std::min(durable, given(id));
  if (!kept.any() || !logs_.wants_checkpoint(id, kept, limit)) return std::nullopt;
  return limit;
}

std::uint64_t LoggedSubgroups::given(SubgroupId id) const {
  const auto given = given_.find(id);
  return given == given_.end() ? 0 : given->second;
}

std::uint64_t LoggedSubgroups::next(SubgroupId id) const { return std::max(given(id), logs_.first(id)); }

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
