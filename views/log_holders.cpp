// Holders of logs: carried from view to view, found by those that remember.
#include <spindrift/views/log_holders.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::views {
namespace {

bool is_in(std::span<const LogHolder> holders, NodeId node) {
  return std::ranges::find(holders, node, &LogHolder::node) != holders.end();
}
bool is_in(std::span<const NodeId> nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

bool is_logged(const SubgroupView& subgroup) { return subgroup.storage == SubgroupStorage::logged && !subgroup.dropped; }

std::string named(const std::vector<NodeId>& nodes) { return (nodes.size() == 1 ? "node " : "nodes ") + listed(nodes); }

/// Nobody in the view can give the subgroup's state to others. A holder that has just come may have the log, which the next
/// view begins with then.
void wait_for(const std::vector<LogHolder>& holders, const View& view, SubgroupView& subgroup) {
  subgroup.members.clear();
  subgroup.senders.clear();
  const bool one = holders.size() == 1;
  std::vector<NodeId> here = nodes_of(holders);
  std::erase_if(here, [&](NodeId node) { return !view.rank_of(node); });
  const std::string without =
      here.empty() ? "" : "; " + named(here) + (here.size() == 1 ? " is" : " are") + " here, without it so far";
  subgroup.inadequate = "its log is with " + named(nodes_of(holders)) +
                        (one ? ", which was not there" : ", none of which was there") + " with it when the view began" +
                        without + "; start one with its directory, or, if they are gone for good, see `spindrift log adopt`";
  subgroup.log_holders = holders;
}

/// Those, and the members of the view that have the log, be it that they leave: where nothing follows in it all of these
/// have all of it.
std::vector<LogHolder> also_holding(std::vector<LogHolder> holders, const View& view, const RankSet& loaded) {
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    if (!loaded.contains(Rank(i))) continue;
    std::erase_if(holders, [&](const LogHolder& each) { return each.node == view.members[i]; });
    holders.push_back({view.members[i], view.incarnations[i]});
  }
  return holders;
}

/// Those of the holders that stay in that subgroup, and all who have its state.
std::vector<LogHolder> going_on(const View& view, const Decree& decree, const View& next, const RankSet& loaded,
                                std::uint32_t place) {
  const SubgroupView& subgroup = next.subgroups[place];
  const std::vector<LogHolder>& before = view.subgroups[place].log_holders;
  std::vector<LogHolder> stay;
  for (std::uint32_t i = 0; i < view.members.size(); ++i) {
    const LogHolder holder{view.members[i], view.incarnations[i]};
    const bool goes_on = subgroup.members.empty() || subgroup.member_position(holder.node);
    const bool has_it = std::ranges::find(before, holder) != before.end();
    if (decree.stays(Rank(i)) && goes_on && has_it) stay.push_back(holder);
  }
  for (std::uint32_t i = 0; i < next.members.size(); ++i) {
    const LogHolder holder{next.members[i], next.incarnations[i]};
    if (loaded.contains(Rank(i)) && !is_in(stay, holder.node)) stay.push_back(holder);
  }
  return stay;
}

LogPoint end_of(const NodeLogs& node, SubgroupId subgroup) {
  const auto at = std::ranges::find(node.logs, subgroup, &KnownLog::subgroup);
  return at == node.logs.end() ? LogPoint() : at->end;
}
std::uint64_t version_of(const NodeLogs& node, SubgroupId subgroup) { return end_of(node, subgroup).version; }

bool holds(const NodeLogs& node, const RecordedLog& log) {
  return std::ranges::any_of(log.holders, [&](const LogHolder& each) { return is_kept(each, node.who.node, node.since); });
}

/// Those of the founders that may have that log; by no record, all that have any of it.
std::vector<const NodeLogs*> candidates(std::span<const NodeLogs> founders, SubgroupId subgroup,
                                        const RecordedLog* recorded) {
  std::vector<const NodeLogs*> all;
  for (const NodeLogs& each : founders) {
    const bool may = recorded != nullptr ? holds(each, *recorded) : version_of(each, subgroup) > 0;
    if (may) all.push_back(&each);
  }
  return all;
}

FirstLog first_log(std::span<const NodeLogs> founders, SubgroupId subgroup, const RecordedLog* recorded) {
  FirstLog log{subgroup, {}, {}};
  std::uint64_t most = 0;
  for (const NodeLogs* const each : candidates(founders, subgroup, recorded)) {
    const std::uint64_t version = version_of(*each, subgroup);
    if (version > most) log.longest.clear();
    most = std::max(most, version);
    if (version == most) log.longest.push_back(each->who.node);
    log.holders.push_back({each->who.node, each->who.incarnation});
  }
  // By no record the others are not known to have all.
  if (recorded == nullptr) std::erase_if(log.holders, [&](const LogHolder& each) { return !is_in(log.longest, each.node); });
  if (log.holders.empty()) log.holders = recorded->holders;
  return log;
}

std::vector<LogHolder> all_members(const View& view, const SubgroupView& subgroup) {
  std::vector<LogHolder> all;
  for (const NodeId node : subgroup.members) all.push_back({node, view.incarnations[view.rank_of(node)->value()]});
  return all;
}

}  // namespace

std::vector<NodeLogs> logs_of(std::span<const NodeLogs> all, std::span<const NodeId> nodes) {
  std::vector<NodeLogs> these;
  std::ranges::copy_if(all, std::back_inserter(these), [&](const NodeLogs& each) { return is_in(nodes, each.who.node); });
  return these;
}

bool is_kept(const LogHolder& holder, NodeId node, std::uint64_t logs_since) noexcept {
  return holder.node == node && logs_since <= holder.incarnation;
}

std::vector<NodeId> nodes_of(std::span<const LogHolder> holders) {
  std::vector<NodeId> nodes;
  for (const LogHolder& each : holders) nodes.push_back(each.node);
  return nodes;
}

void carry_logs(View& next, const View& view, const Decree& decree, const std::vector<RankSet>& loaded) {
  for (std::uint32_t s = 0; s < next.subgroups.size(); ++s) {
    SubgroupView& subgroup = next.subgroups[s];
    if (!is_logged(subgroup)) continue;
    const std::vector<LogHolder>& before = view.subgroups[s].log_holders;
    // As long as nobody has the state nothing is added to the log, and whoever has been gone since has all of it.
    const bool nobody = loaded[s].empty() && !before.empty();
    const bool keeps_all = view.roster.version >= logs_return_since && (nobody || subgroup.members.empty());
    const std::vector<LogHolder> all = keeps_all ? also_holding(before, view, decree.loaded[s]) : before;
    if (nobody) {
      wait_for(all, next, subgroup);
    } else {
      subgroup.log_holders = keeps_all ? all : going_on(view, decree, next, loaded[s], s);
    }
  }
}

std::vector<ForkedLog> forked_logs(std::span<const RecordedLog> recorded, std::span<const NodeLogs> founders) {
  std::vector<ForkedLog> forked;
  for (const FirstLog& log : first_logs(recorded, founders)) {
    std::vector<LogPoint> ends;
    for (const NodeLogs& each : founders) {
      if (std::ranges::find(log.longest, each.who.node) != log.longest.end()) ends.push_back(end_of(each, log.subgroup));
    }
    const bool same = std::ranges::adjacent_find(ends, std::ranges::not_equal_to()) == ends.end();
    if (!same) forked.push_back({log.subgroup, ends.front().version, log.longest});
  }
  return forked;
}

std::vector<RecordedLog> without_lost(std::vector<RecordedLog> recorded, std::span<const NodeLogs> here,
                                      std::span<const NodeLogs> founders) {
  std::erase_if(recorded, [&](const RecordedLog& log) {
    return std::ranges::none_of(here, [&](const NodeLogs& each) { return holds(each, log); }) &&
           std::ranges::any_of(founders, [&](const NodeLogs& each) { return version_of(each, log.subgroup) > 0; });
  });
  return recorded;
}

std::vector<FirstLog> first_logs(std::span<const RecordedLog> recorded, std::span<const NodeLogs> founders) {
  std::vector<FirstLog> logs;
  for (const RecordedLog& each : recorded) logs.push_back(first_log(founders, each.subgroup, &each));
  for (const NodeLogs& node : founders) {
    for (const KnownLog& known : node.logs) {
      if (std::ranges::find(logs, known.subgroup, &FirstLog::subgroup) == logs.end())
        logs.push_back(first_log(founders, known.subgroup, nullptr));
    }
  }
  std::ranges::sort(logs, {}, &FirstLog::subgroup);
  return logs;
}

// The layout leaves members where they were: so those that have a log are said to have been in its subgroup, and nobody in
// any other.
std::vector<SubgroupView> first_subgroups(const LayoutFunction& layout, const std::vector<NodeId>& members,
                                          std::span<const FirstLog> logs) {
  std::vector<SubgroupView> subgroups = layout(members, nullptr);
  if (std::ranges::all_of(logs, [](const FirstLog& log) { return log.longest.empty(); })) return subgroups;
  View before;
  before.members = members;
  before.incarnations.assign(members.size(), 1);
  before.subgroups = std::move(subgroups);
  for (std::uint32_t s = 0; s < before.subgroups.size(); ++s) {
    SubgroupView& subgroup = before.subgroups[s];
    subgroup.members.clear();
    subgroup.senders.clear();
    const auto log = std::ranges::find(logs, SubgroupId(s), &FirstLog::subgroup);
    if (log == logs.end() || !is_logged(subgroup)) continue;
    const auto holds = [&](NodeId node) { return is_in(log->holders, node); };
    std::ranges::copy_if(members, std::back_inserter(subgroup.members), holds);
    subgroup.senders = subgroup.members;
  }
  return layout(members, &before);
}

Result<void> check_places(const ViewRecord& record, std::span<const SubgroupView> layout) {
  const auto check = [&](const RecordedView& view) -> Result<void> {
    for (const RecordedLog& log : view.logs) {
      const std::uint32_t place = log.subgroup.value();
      const SubgroupView* const there = place < layout.size() ? &layout[place] : nullptr;
      if (there != nullptr && is_logged(*there) && name_digest(*there) == log.name) continue;
      return Error(ErrorKind::refused,
                   "this node has the log of a logged subgroup at place " + std::to_string(place) +
                       " of the layout, counted from 0, and there is " +
                       (there != nullptr ? there->name + " now, which is another one or not logged" : "none now"))
          .fix("put the subgroup back to its place, under its name and \"storage\": \"logged\", and new ones behind all; or "
               "have all nodes forget what was logged: spindrift group forget --config FILE NODE");
    }
    return {};
  };
  if (record.last) SPINDRIFT_TRY(check(*record.last));
  for (const RecordedView& view : record.accepted) SPINDRIFT_TRY(check(view));
  return {};
}

void begin_logs(View& first, std::vector<RankSet>& loaded, std::span<const FirstLog> logs) {
  for (std::uint32_t s = 0; s < first.subgroups.size(); ++s) {
    SubgroupView& subgroup = first.subgroups[s];
    if (!is_logged(subgroup)) continue;
    const auto log = std::ranges::find(logs, SubgroupId(s), &FirstLog::subgroup);
    if (log == logs.end()) {
      subgroup.log_holders = all_members(first, subgroup);
      continue;
    }
    // A log stays with its holders while their subgroup is inadequate for another reason.
    RankSet having;
    for (const NodeId node : log->longest) {
      if (subgroup.members.empty() || subgroup.member_position(node)) having.add(*first.rank_of(node));
    }
    loaded[s] = having;
    if (having.empty()) {
      wait_for(log->holders, first, subgroup);
      continue;
    }
    // A founder that is not in the subgroup lacks what follows there.
    const auto follows = [&](const LogHolder& each) {
      return subgroup.members.empty() || subgroup.member_position(each.node).has_value();
    };
    subgroup.log_holders.clear();
    std::ranges::copy_if(log->holders, std::back_inserter(subgroup.log_holders), follows);
  }
}

}  // namespace spindrift::views
