// Whether those that are there, and look for a group, have to found one; and what nodes keep for that.
#include <algorithm>

#include "fleet.hpp"

namespace spindrift::sim {

using views::MemberState;

bool Fleet::looks(std::uint32_t node) {
  const Process* const process = newest(node);
  return process != nullptr && process->running_ && !process->frozen_ && process->state_ == MemberState::looking;
}

// Whether those that are here have to found the view that follows the newest: they are a majority of it, one knows of it,
// and nobody has accepted another, of which they may need others.
bool Fleet::memory_suffices() {
  const View* const last = history_.newest_view();
  if (last == nullptr || plan_.founded_by == views::FoundedBy::present || plan_.clocks_go_back) return false;
  const auto in_a_view = [](const auto& each) {
    return each->running_ && !each->frozen_ && each->member_->epoch() != nullptr && each->state_ != MemberState::failed &&
           each->state_ != MemberState::left;
  };
  if (std::ranges::any_of(processes_, in_a_view)) return false;
  std::size_t here = 0;
  bool known = false;
  bool all = true;
  for (std::uint32_t node = 0; node < plan_.nodes.size(); ++node) {
    if (records_.lives(node) && !looks(node)) return false;
    const views::ViewRecord* const record = records_.record(node);
    if (record != nullptr && (!record->accepted.empty() || (record->last && record->last->id > last->id))) all = false;
    known |= looks(node) && record != nullptr && record->last && record->last->id == last->id;
    const bool moved = !rosters_.endpoint_of(node).empty();
    const auto rank = last->rank_of(NodeId(node));
    if (!rank || !looks(node) || record == nullptr || moved) continue;
    here += record->since <= last->incarnations[rank->value()] && last->roster.admits(NodeId(node)) ? 1 : 0;
  }
  return all && known && 2 * here > last->members.size() && logs_suffice(*last);
}

// One of those that have a log, and were in the view, is here, unless none was.
bool Fleet::logs_suffice(const View& last) {
  return std::ranges::all_of(last.subgroups, [&](const SubgroupView& subgroup) {
    const auto was_there = [&](const LogHolder& holder) {
      const views::ViewRecord* const record = records_.record(holder.node.value());
      const bool lost = looks(holder.node.value()) && record != nullptr && record->logs_since() > holder.incarnation;
      return last.rank_of(holder.node).has_value() && !lost;
    };
    const auto is_here = [&](const LogHolder& holder) {
      const views::ViewRecord* const record = records_.record(holder.node.value());
      const auto rank = last.rank_of(holder.node);
      return rank && looks(holder.node.value()) && record != nullptr &&
             views::is_kept(holder, holder.node, record->logs_since()) && record->since <= last.incarnations[rank->value()];
    };
    return std::ranges::none_of(subgroup.log_holders, was_there) || std::ranges::any_of(subgroup.log_holders, is_here);
  });
}

void Fleet::say_logs(const Process& process, const View& view) {
  for (std::uint32_t s = 0; s < plan_.subgroups.size(); ++s) {
    if (!plan_.subgroups[s].logged) continue;
    const SubgroupView& subgroup = subgroup_at(view, s);
    const NodeLog& log = node_logs_.log(process.node_, s);
    std::string text = "  log of " + subgroup.name + ": " + std::to_string(log.durable) + " of " +
                       std::to_string(log.entries().size()) + " durable, members";
    for (const NodeId node : subgroup.members) text += " " + std::to_string(node.value());
    text += ", holders";
    for (const LogHolder& each : subgroup.log_holders) text += " " + std::to_string(each.node.value());
    if (process.member_->deliveries().loading(SubgroupId(s))) text += ", loading";
    say(process, text + (subgroup.inadequate.empty() ? "" : ", " + subgroup.inadequate));
  }
}

NodeLogs::Hooks Fleet::log_hooks() {
  return {[this](std::uint32_t process) {
            cause_at_ = scheduler_.now();
            on_news(process);
          },
          [this](std::uint32_t process) { on_action(process); },
          [this](std::uint32_t process, std::uint32_t subgroup, std::uint64_t version, const LogEntry& entry) {
            log_books_.on_append(process, subgroup, version, entry);
          }};
}

bool Fleet::founders_complete() {
  if (plan_.founded_by == views::FoundedBy::present) {  // of those that are there: none that does not answer
    return std::none_of(processes_.begin(), processes_.end(), [](const auto& process) {
      return process->running_ && (process->frozen_ || process->state_ != MemberState::looking);
    });
  }
  // Some may have accepted a founding of which others have lost all memory.
  bool lost = false;
  bool remembered = false;
  for (std::uint32_t node = 0; node < plan_.nodes.size(); ++node) {
    lost |= records_.was_lost(node);
    remembered |= records_.record(node) != nullptr && !records_.record(node)->empty();
  }
  if (lost && remembered) return false;
  // Two that have moved do not find each other by their files.
  const auto moved = [&](std::uint32_t node) { return !rosters_.endpoint_of(node).empty(); };
  if (std::count_if(plan_.founders.begin(), plan_.founders.end(), moved) > 1) return false;
  return std::all_of(plan_.founders.begin(), plan_.founders.end(), [&](std::uint32_t node) {
    const Process* const process = newest(node);
    if (process != nullptr && !process->founds_) return false;
    return process != nullptr && process->running_ && !process->frozen_ && process->state_ == MemberState::looking;
  });
}

}  // namespace spindrift::sim
