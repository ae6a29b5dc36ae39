// Words for those that remember a view: whom they wait for, and what would be lost without these.
#include <spindrift/views/recall.hpp>

#include <algorithm>
#include <utility>

#include <spindrift/core/ids_text.hpp>

namespace spindrift::views {
namespace {

std::string verb(std::size_t count, const char* one, const char* more) { return count == 1 ? one : more; }

std::string nodes_text(const std::vector<NodeId>& nodes) { return verb(nodes.size(), "node ", "nodes ") + listed(nodes); }

std::string subgroup_text(const RecordedLog& log, std::span<const SubgroupView> layout) {
  const auto named = std::ranges::find(layout, log.name, [](const SubgroupView& each) { return name_digest(each); });
  return named == layout.end() ? std::to_string(log.subgroup.value()) + " of the layout" : named->name;
}

/// They may run, and be heard of in a moment: whoever joins a group that runs passes here.
std::string words_of(const LastView& view) {
  std::vector<NodeId> rest;
  for (const NodeId node : view.nodes) {
    const bool there = std::ranges::find(view.here, node) != view.here.end() ||
                       std::ranges::find(view.forgetful, node) != view.forgetful.end();
    if (!there) rest.push_back(node);
  }
  std::string text = "had " + nodes_text(view.nodes);
  text += view.here.empty() ? ", of which none is here"
                            : ", of which " + listed(view.here) + verb(view.here.size(), " is here", " are here");
  if (!view.forgetful.empty()) {
    text += ", and " + listed(view.forgetful) + verb(view.forgetful.size(), " has", " have") +
            " lost the record of it";
  }
  const std::size_t needed = view.nodes.size() / 2 + 1 - view.here.size();
  if (rest.size() < needed) return text;
  text += rest.size() == needed ? ": " : ": " + std::to_string(needed) + " of ";
  return text + nodes_text(rest) + verb(needed, " has to come (start it unless it runs)",
                                    " have to come (start those that do not run)");
}

/// A holder has all that was reported durable before the last view; others that are here have what they have.
std::string words_of(const RecordedLog& log, const std::vector<NodeLogs>& have, const std::string& name) {
  std::vector<NodeId> holders;
  std::vector<NodeId> away = nodes_of(log.holders);
  std::uint64_t of_holders = 0;
  std::uint64_t of_any = 0;
  for (const NodeLogs& each : have) {
    std::erase(away, each.who.node);
    const auto known = std::ranges::find(each.logs, log.subgroup, &KnownLog::subgroup);
    const std::uint64_t version = known == each.logs.end() ? 0 : known->end.version;
    of_any = std::max(of_any, version);
    const auto is_it = [&](const LogHolder& holder) { return is_kept(holder, each.who.node, each.since); };
    if (std::ranges::none_of(log.holders, is_it)) continue;
    holders.push_back(each.who.node);
    of_holders = std::max(of_holders, version);
  }
  if (holders.empty()) {
    const std::string rest = of_any == 0 ? "" : ", but for the first " + std::to_string(of_any) + " messages at most";
    return "nobody here has all that was reported durable of the log of subgroup " + name + ": it is lost" +
           (away.empty() ? "" : " without " + nodes_text(away)) + rest;
  }
  const std::string text = nodes_text(holders) + verb(holders.size(), " has", " have") + " of the log of subgroup " + name +
                           " all that was reported durable, " + std::to_string(of_holders) + " messages";
  return away.empty() ? text : text + "; what " + nodes_text(away) + " may have behind that is lost without " +
                                   verb(away.size(), "it", "them");
}

bool has_a_holder(const RecordedLog& log, const Recalled& recalled) {
  return std::ranges::any_of(recalled.have, [&](const NodeLogs& each) {
    const bool founds = std::ranges::find(recalled.founders, each.who) != recalled.founders.end();
    return founds && std::ranges::any_of(log.holders, [&](const LogHolder& holder) {
             return is_kept(holder, each.who.node, each.since);
           });
  });
}

std::string words_of_away(const RecordedLog& log) {
  const std::string holders = verb(log.holders.size(), "", "one of ") + nodes_text(nodes_of(log.holders));
  return " is lost, and has no members, until " + holders +
         " comes back with its log (before anything is deleted there, spindrift log dump saves the messages)";
}

/// Others that found may have messages that the longest lacks, so what they have is said, too.
std::string words_of_longest(const FirstLog& log, const RecordedLog& recorded, const Recalled& recalled) {
  std::uint64_t most = 0;
  std::string others;
  for (const NodeLogs& each : recalled.have) {
    if (std::ranges::find(recalled.founders, each.who) == recalled.founders.end()) continue;
    const auto known = std::ranges::find(each.logs, log.subgroup, &KnownLog::subgroup);
    const std::uint64_t version = known == each.logs.end() ? 0 : known->end.version;
    most = std::max(most, version);
    const bool is_longest = std::ranges::find(log.longest, each.who.node) != log.longest.end();
    if (!is_longest) others += ", node " + std::to_string(each.who.node.value()) + " has " + std::to_string(version);
  }
  return " goes on with the log of " + nodes_text(log.longest) + ", of " + std::to_string(most) +
         " messages, the longest here" + others + ": what follows in the log of " + nodes_text(nodes_of(recorded.holders)) +
         " is lost, also if one of these comes back, which is given this log (before it is started, spindrift log dump "
         "saves the messages there)";
}

}  // namespace

std::string words_of(const Recalled& recalled, NodeId self, const ViewRecord& own, std::span<const SubgroupView> layout) {
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : "; ") + words; };
  const bool was_member = own.standing == ViewRecord::Standing::member;
  if (!was_member) {
    text = "the group went on without node " + std::to_string(self.value()) +
           (own.standing == ViewRecord::Standing::left ? ", which had left it" : ", which it had removed");
    const bool admitted = !own.last || own.last->roster.nodes.empty() || own.last->roster.admits(self);
    if (!admitted) text += "; it is not in the group's roster any more (spindrift group add lets it in again)";
  }
  for (const LastView& view : recalled.awaited) add("the last view of the group " + words_of(view));
  if (!recalled.awaited.empty()) {
    for (const RecordedLog& log : recalled.logs) add(words_of(log, recalled.have, subgroup_text(log, layout)));
  }
  for (const RecordedLog& log : recalled.without) {
    add("the log of subgroup " + subgroup_text(log, layout) + " is with " + nodes_text(nodes_of(log.holders)) +
        (log.holders.size() == 1 ? ", which is not here: start it" : ", of which none is here: start one of these"));
  }
  for (const ForkedLog& log : recalled.forked) {
    add("the logs of subgroup " + std::to_string(log.subgroup.value()) + " of the layout at nodes " + listed(log.nodes) +
        " are not the same, of " + std::to_string(log.version) +
        " messages each: somebody changed one (spindrift log dump shows them); have nodes with a wrong one forget "
        "theirs: spindrift group forget");
  }
  return text;
}

std::string words_of_tellers(const std::vector<NodeId>& tellers) {
  if (tellers.empty()) return {};
  const bool one = tellers.size() == 1;
  return "; so " + std::string(one ? "says the record of " : "say the records of ") + nodes_text(tellers) +
         " on this host, which " + (one ? "does" : "do") +
         " not run, and of none that is here: where all others were made to forget that, have " + (one ? "it" : "these") +
         " forget, too (spindrift group forget), and start these again";
}

std::string words_of_lost_logs(const Recalled& recalled, std::span<const SubgroupView> layout) {
  std::string text;
  for (const FirstLog& log : logs_by_force(recalled)) {
    const auto recorded = std::ranges::find(recalled.logs, log.subgroup, &RecordedLog::subgroup);
    if (recorded == recalled.logs.end() || has_a_holder(*recorded, recalled)) continue;
    const std::string name = subgroup_text(*recorded, layout);
    const std::string lost = log.longest.empty() ? words_of_away(*recorded) : words_of_longest(log, *recorded, recalled);
    text += (text.empty() ? "" : "; ") + ("subgroup " + name) + lost;
  }
  return text;
}

}  // namespace spindrift::views
