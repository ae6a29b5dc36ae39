// Members' words about a log, weighed against that of those who run the group.
#include <spindrift/views/log_adoption.hpp>

#include <algorithm>
#include <string>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/views/versions.hpp>

namespace spindrift::views {
namespace {

std::string text_of(NodeId node) { return "node " + std::to_string(node.value()); }

std::string text_of(const std::vector<NodeId>& nodes) { return (nodes.size() == 1 ? "node " : "nodes ") + listed(nodes); }

LogPoint end_of(const AwayLog& log, Rank rank) {
  const auto said = log.said.find(rank);
  if (said == log.said.end()) return {};
  const std::vector<KnownLog>& logs = said->second.logs;
  const auto at = std::ranges::find(logs, log.recorded.subgroup, &KnownLog::subgroup);
  return at == logs.end() ? LogPoint() : at->end;
}

// Nobody who may have more is passed over.
Result<void> check_member(const AwayLog& log, Rank rank) {
  const NodeId node = log.view.members[rank.value()];
  const auto said = log.said.find(rank);
  if (said == log.said.end()) {
    return Error(ErrorKind::refused, text_of(node) + " has not said yet what it has of the log")
        .fix("say it again in a moment; a member of an earlier release says it when it is started with this one");
  }
  const auto is_its = [&](const LogHolder& holder) { return is_kept(holder, node, said->second.since); };
  if (std::ranges::none_of(log.recorded.holders, is_its)) return {};
  return Error(ErrorKind::refused, text_of(node) + " is a holder of the log, and here with it: it is taken up by itself")
      .fix("wait for that; where the logs of holders differ, the log of the member that leads the view says so, and the way "
           "on is to have all but one of them forget theirs: spindrift group forget");
}

/// As much of the log as that.
Result<bool> has_same(const AwayLog& log, Rank rank, NodeId from, const LogPoint& end) {
  const NodeId node = log.view.members[rank.value()];
  const LogPoint its = end_of(log, rank);
  if (its.version > end.version) {
    return Error(ErrorKind::refused, text_of(node) + " has the log up to version " + std::to_string(its.version) + ", and " +
                                         text_of(from) + " only up to " + std::to_string(end.version))
        .fix("name the one that has more: --from " + std::to_string(node.value()));
  }
  if (its.version == end.version && its != end) {
    return Error(ErrorKind::refused, text_of(node) + " has a log of " + std::to_string(end.version) +
                                         " messages, too, which is not the same as that of " + text_of(from))
        .fix("see which is wrong (spindrift log dump), and have the other forget its own: spindrift group forget");
  }
  return its == end;
}

}  // namespace

Result<RankSet> adopted(const AwayLog& log, NodeId from) {
  const auto rank = log.view.rank_of(from);
  if (!rank) {
    return Error(ErrorKind::bad_argument, text_of(from) + " is no member of view " + std::to_string(log.view.id.value()))
        .fix("start it, or name one of " + text_of(log.view.members));
  }
  for (std::uint32_t i = 0; i < log.view.members.size(); ++i) SPINDRIFT_TRY(check_member(log, Rank(i)));
  const LogPoint end = end_of(log, *rank);
  if (end.version == 0) {
    return Error(ErrorKind::refused,
                 text_of(from) + " has nothing of the log, or a part alone with which no application can begin")
        .fix("name a member that was in the subgroup before");
  }
  RankSet same;
  for (std::uint32_t i = 0; i < log.view.members.size(); ++i) {
    SPINDRIFT_TRY_ASSIGN(const bool has_it, has_same(log, Rank(i), from, end));
    if (has_it) same.add(Rank(i));
  }
  return same;
}

Error loss_of(const AwayLog& log, NodeId from) {
  const std::string version = std::to_string(end_of(log, *log.view.rank_of(from)).version);
  const std::vector<NodeId> holders = nodes_of(log.recorded.holders);
  return Error(ErrorKind::no_majority,
               "the log is with " + text_of(holders) + ", not here with it; that of " + text_of(from) +
                   " goes up to version " + version + ", which no other member's exceeds: what follows in the log of " +
                   text_of(holders) + ", also what was reported durable, is lost if the group goes on with it")
      .fix("start one of these with the directory of its [PERS] file_path; if that is gone for good: --force");
}

Error not_away(const View& view, const std::vector<RankSet>& loaded, SubgroupId subgroup) {
  const SubgroupView& there = view.subgroup(subgroup);
  const auto refused = [](const std::string& what) {
    return Error(ErrorKind::refused, what).fix("see how the subgroup is: spindrift group status");
  };
  if (there.dropped) return refused("the subgroup was dropped");
  if (there.storage != SubgroupStorage::logged) return refused("subgroup " + there.name + " is not logged");
  if (view.roster.version < logs_return_since) {
    return Error(ErrorKind::unsupported, "the group speaks version " + std::to_string(view.roster.version) +
                                             " of the protocol, in which no log is taken up while it goes on")
        .fix("start the members of earlier releases with this one");
  }
  if (loaded[subgroup.value()].empty()) return refused("subgroup " + there.name + " waits for nobody's log");
  return refused("the log of subgroup " + there.name + " is here" +
                 (there.inadequate.empty() ? ", and the group goes on with it" : "; it waits, for " + there.inadequate));
}

}  // namespace spindrift::views
