// Holders in a view, and which of them has the longest log.
#include <spindrift/views/log_claims.hpp>

#include <algorithm>
#include <span>
#include <utility>

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

bool LogClaims::awaits(NodeId node) const noexcept {
  return std::ranges::any_of(away_, [node](const RecordedLog& log) { return holds(log, node); });
}

void LogClaims::hear(Rank from, NodeLogs said) {
  if (!awaits(view_.members[from.value()])) return;
  said_.insert_or_assign(from, std::move(said));
  name();
}

// A view that ends for a log must lead to one in which somebody has it, or views would change for ever.
void LogClaims::name() {
  std::vector<RankSet> found = this->found();
  Decree trial;
  trial.loaded = loaded_;
  for (std::size_t s = 0; s < found.size(); ++s) trial.loaded[s].add(found[s]);
  std::vector<SubgroupId> lost;
  const View next = successor(view_, trial, *layout_, view_.roster);
  const std::vector<RankSet> loaded = loaded_in(next, view_, loaded_, trial, lost);
  for (std::size_t s = 0; s < found.size(); ++s) {
    if (loaded[s].empty()) found[s] = {};
  }
  const bool any = std::ranges::any_of(found, [](const RankSet& each) { return !each.empty(); });
  named_ = any ? std::optional(std::move(found)) : std::nullopt;
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
