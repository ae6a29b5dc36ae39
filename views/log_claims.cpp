// Holders in a view, and which of them has the longest log.
#include <spindrift/views/log_claims.hpp>

#include <algorithm>
#include <span>
#include <utility>

#include <spindrift/views/log_adoption.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::views {
namespace {

bool holds(const RecordedLog& log, NodeId node) {
  return std::ranges::find(log.holders, node, &LogHolder::node) != log.holders.end();
}

}  // namespace

LogClaims::LogClaims(const View& view, const std::vector<RankSet>& loaded, const LayoutFunction* layout)
    : view_(view), loaded_(loaded), layout_(layout) {
  if (layout == nullptr || view.roster.version < logs_return_since) return;
  for (std::uint32_t s = 0; s < view.subgroups.size(); ++s) {
    const SubgroupView& subgroup = view.subgroups[s];
    const bool away = subgroup.storage == SubgroupStorage::logged && !subgroup.dropped && loaded[s].empty();
    if (away && !subgroup.log_holders.empty()) away_.push_back({SubgroupId(s), name_digest(subgroup), subgroup.log_holders});
  }
}

void LogClaims::hear(Rank from, NodeLogs said) {
  if (away_.empty()) return;
  said_.insert_or_assign(from, std::move(said));
  name();
}

// A view that ends for a log must lead to one in which somebody has it, or views would change for ever.
void LogClaims::name() {
  std::vector<RankSet> found = this->found();
  std::vector<RankSet> loaded;
  static_cast<void>(next(found, loaded));
  for (std::size_t s = 0; s < found.size(); ++s) {
    if (loaded[s].empty()) found[s] = {};
  }
  const bool any = std::ranges::any_of(found, [](const RankSet& each) { return !each.empty(); });
  named_ = any ? std::optional(std::move(found)) : std::nullopt;
}

View LogClaims::next(const std::vector<RankSet>& found, std::vector<RankSet>& loaded) const {
  Decree trial;
  trial.loaded = loaded_;
  for (std::size_t s = 0; s < found.size(); ++s) trial.loaded[s].add(found[s]);
  std::vector<SubgroupId> lost;
  View next = successor(view_, trial, *layout_, view_.roster);
  loaded = loaded_in(next, view_, loaded_, trial, lost);
  return next;
}

Result<void> LogClaims::adopt(SubgroupId subgroup, NodeId from, bool force) {
  const auto log = std::ranges::find(away_, subgroup, &RecordedLog::subgroup);
  if (log == away_.end()) return not_away(view_, loaded_, subgroup);
  SPINDRIFT_TRY_ASSIGN(const RankSet named, adopted({view_, *log, said_}, from));
  SPINDRIFT_TRY(check_place(subgroup, named));
  if (!force) return loss_of({view_, *log, said_}, from);
  adopted_.insert_or_assign(subgroup, named);
  name();
  return {};
}

// While it is inadequate for another reason nothing is won, and a holder may come back.
Result<void> LogClaims::check_place(SubgroupId subgroup, const RankSet& named) const {
  std::vector<RankSet> found(view_.subgroups.size());
  found[subgroup.value()] = named;
  std::vector<RankSet> loaded;
  const View next = this->next(found, loaded);
  const std::string& inadequate = next.subgroup(subgroup).inadequate;
  if (!inadequate.empty()) {
    return Error(ErrorKind::refused, "with that log, too, nobody could send there: " + inadequate)
        .fix("start members that the layout needs, and say it then");
  }
  if (!loaded[subgroup.value()].empty()) return {};
  return Error(ErrorKind::refused, "the layout has no place in the subgroup for a member with that log")
      .fix("let a member go that the layout takes instead, or name another node with --from");
}

std::vector<NodeLogs> LogClaims::said_of(const RecordedLog& log, bool& all) const {
  std::vector<NodeLogs> these;
  all = true;
  for (std::uint32_t i = 0; i < view_.members.size(); ++i) {
    if (!holds(log, view_.members[i])) continue;
    const auto at = said_.find(Rank(i));
    all &= at != said_.end();
    if (at == said_.end()) continue;
    NodeLogs said = at->second;
    std::erase_if(said.logs, [&](const KnownLog& each) { return each.subgroup != log.subgroup; });
    these.push_back(std::move(said));
  }
  return these;
}

std::vector<RankSet> LogClaims::found() const {
  std::vector<RankSet> found(view_.subgroups.size());
  for (const RecordedLog& log : away_) {
    if (const auto told = adopted_.find(log.subgroup); told != adopted_.end()) {
      found[log.subgroup.value()] = told->second;
      continue;
    }
    bool all = false;
    const std::vector<NodeLogs> said = said_of(log, all);
    if (!all || said.empty() || !forked_logs({&log, 1}, said).empty()) continue;
    const std::vector<FirstLog> first = first_logs({&log, 1}, said);
    for (const NodeId node : first.front().longest) found[log.subgroup.value()].add(*view_.rank_of(node));
  }
  return found;
}

std::vector<ForkedLog> LogClaims::take_forked() {
  std::vector<ForkedLog> news;
  for (const RecordedLog& log : away_) {
    bool all = false;
    for (ForkedLog& each : forked_logs({&log, 1}, said_of(log, all))) {
      if (std::ranges::find(told_, each) == told_.end()) news.push_back(std::move(each));
    }
  }
  told_.insert(told_.end(), news.begin(), news.end());
  return news;
}

}  // namespace spindrift::views
