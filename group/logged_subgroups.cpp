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
  if (kept.any()) logs_.trim(id, kept, trim_limit(id, version, use));
}

std::uint64_t LoggedSubgroups::trim_limit(SubgroupId id, std::uint64_t version, Use use) {
  const std::uint64_t limit = std::min(version, next(id));
  if (use == Use::messages) return limit;
  const store::Checkpoint* const state = logs_.durable_checkpoint(id);
  return std::min(limit, state == nullptr ? 0 : state->version.value());
}

Result<std::uint64_t> LoggedSubgroups::trim(SubgroupId id, std::uint64_t below, std::uint64_t durable, Use use) {
  const bool logged = id.value() < layout_.size() && layout_[id.value()].storage == SubgroupStorage::logged;
  if (!logged) {
    return Error(ErrorKind::bad_argument, "the subgroup is not logged: no message of it is kept")
        .fix("name a subgroup with \"storage\": \"logged\"");
  }
  const std::string& name = layout_[id.value()].name;
  if (use == Use::object && !layout_[id.value()].history.any()) {
    return Error(ErrorKind::bad_argument, "an object is made of all messages of the log of " + name)
        .fix("give the subgroup a \"history\" in the layout of all members: then checkpoints are made in their place");
  }
  if (const std::uint64_t end = logs_.end(id).version; below > end) {
    return Error(ErrorKind::bad_argument, "the log of " + name + " ends before version " + std::to_string(below))
        .fix("give version " + std::to_string(end) + ", or a lower one");
  }
  if (const std::uint64_t limit = trim_limit(id, durable, use); below > limit) {
    const char* const why = use == Use::object ? "are in no checkpoint that is on the disk here"
                                               : "may not be on the disk of each member yet, or the application here has "
                                                 "not been given them";
    return Error(ErrorKind::refused, "messages of " + name + " from version " + std::to_string(limit) + " on " + why)
        .fix("trim below " + std::to_string(limit) + ", or later");
  }
  if (!logs_.trim_below(id, below)) trims_[id] = below;
  return logs_.first(id);
}

void LoggedSubgroups::trim_further() {
  std::erase_if(trims_, [this](const auto& each) { return logs_.trim_below(each.first, each.second); });
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
