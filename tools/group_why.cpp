// One explanation for each thing that is worth a word.
#include "group_why.hpp"

#include <algorithm>
#include <ctime>
#include <limits>

#include <fmt/format.h>

#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/differing_nodes.hpp>

namespace spindrift::tools {
namespace {

using group::MemberStatus;
using Json = nlohmann::json;

/// How the others saw the end of this start of the node: it went for the first view behind its own that has it gone. What
/// they say of views before is about earlier starts, and what they say later about others. Null: they have said nothing.
const Departure* departure_of(const std::vector<Departure>& departures, const MemberStatus& status) {
  const auto at = std::ranges::find_if(departures, [&](const Departure& each) {
    return each.node == status.node && status.view && each.view > *status.view;
  });
  return at == departures.end() ? nullptr : &*at;
}

std::string what_others_said(const GroupReport& report, const std::vector<Departure>& departures,
                             const MemberStatus& status) {
  const Departure* const departure = departure_of(departures, status);
  const auto says_something = [&](const NodeReport& each) { return each.lives() && each.status.node != status.node; };
  if (departure == nullptr && std::ranges::none_of(report.nodes, says_something))
    return "no other node of this host runs that could say more";
  if (departure == nullptr) return "the others have not said anything about it yet";
  return fmt::format("the others (node {}) removed it for view {}: {}", listed(departure->witnesses), departure->view,
                     departure->failed ? departure->reason : "it left");
}

/// The words of the other side: of the node that was removed, as far as its status is here and of the same start.
std::string last_words(const GroupReport& report, const std::vector<Departure>& departures, const Departure& departure) {
  for (const NodeReport& each : report.nodes) {
    if (!each.status.end || departure_of(departures, each.status) != &departure) continue;
    if (!report.of_newest_founding(each.status)) continue;
    return each.status.end->reason.empty() ? each.status.end->kind : each.status.end->reason;
  }
  return {};
}

/// The one whose finding it was, and who saw it otherwise: a link that broke is told of by both ends, and by a third.
std::string testimonies_of(const Departure& departure) {
  std::string text;
  if (departure.testimonies.empty()) return text;
  if (const auto by = departure.testimonies.front().by)
    text = fmt::format(", found by node {}{}", *by, *by == departure.testimonies.front().witness ? " itself" : "");
  for (const Testimony& each : departure.testimonies) {
    if (!each.reason.empty() && each.reason != departure.reason)
      text += fmt::format("; node {} says: {}", each.witness, each.reason);
  }
  return text;
}

Explanation explain(const Departure& departure, const std::vector<Departure>& departures, const GroupReport& report) {
  Json json{{"kind", departure.failed ? "removed" : "left"},
            {"node", departure.node},
            {"view", departure.view},
            {"reason", departure.reason},
            {"says", departure.witnesses},
            {"last_words", ""},
            {"testimonies", Json::array()},
            {"at_ms", departure.at_ms}};
  const std::string start = fmt::format("{} view {}: node {} ", time_text(departure.at_ms), departure.view, departure.node);
  if (!departure.failed) return {json, start + "left; says node " + listed(departure.witnesses)};
  const std::string words = last_words(report, departures, departure);
  json["last_words"] = words;
  for (const Testimony& each : departure.testimonies) {
    json["testimonies"].push_back(
        {{"node", each.witness}, {"reason", each.reason}, {"by", each.by ? Json(each.by->value()) : Json()}});
  }
  return {json, fmt::format("{}was removed: {}{}{}; says node {}", start,
                            departure.reason.empty() ? "nobody here knows why" : departure.reason,
                            testimonies_of(departure), words.empty() ? "" : "; its own last words: " + words,
                            listed(departure.witnesses))};
}

Explanation explain_death(const NodeReport& node, const GroupReport& report, const std::vector<Departure>& departures) {
  const NodeId id = node.status.node;
  const std::string said = what_others_said(report, departures, node.status);
  return {{{"kind", "died"}, {"node", id}, {"process", node.status.process}, {"reason", said}},
          fmt::format("node {} died: process {} is gone without a word; {}", id, node.status.process, said)};
}

Explanation explain_removal(const NodeReport& node, const GroupReport& report, const std::vector<Departure>& departures) {
  const NodeId id = node.status.node;
  const std::string said = what_others_said(report, departures, node.status);
  const std::string reason = said + "; its process runs, and has not taken note: it is stopped, starved or cut off";
  return {{{"kind", "unaware"}, {"node", id}, {"process", node.status.process}, {"reason", reason}},
          fmt::format("node {} is out of the group and does not know: {}; fix: kill -CONT {}, or end it, and start the node "
                      "again",
                      id, reason, node.status.process)};
}

/// Whether a process that runs here waits for this one: it has it in its view, or still looks for its group.
bool is_awaited(const MemberStatus& status, const GroupReport& report) {
  const auto is_it = [&](const MemberStatus::MemberEntry& member) {
    return member.node == status.node && member.incarnation == status.incarnation;
  };
  return std::ranges::any_of(report.nodes, [&](const NodeReport& other) {
    if (other.condition != NodeReport::Condition::running || other.status.node == status.node) return false;
    return !other.status.view || std::ranges::any_of(other.status.members, is_it);
  });
}

Explanation explain_stop(const NodeReport& node, const GroupReport& report) {
  const NodeId id = node.status.node;
  const std::string reason = std::string("a signal (SIGSTOP, Ctrl-Z) or a debugger has stopped its process") +
                             (is_awaited(node.status, report) ? ", and the others wait for it"
                                                              : "; no node that runs on this host waits for it");
  return {{{"kind", "stopped"}, {"node", id}, {"process", node.status.process}, {"reason", reason}},
          fmt::format("node {} is stopped: {}; fix: kill -CONT {}, or end it", id, reason, node.status.process)};
}

/// Since when something of that node's process is not as it should be, by its counter of that name; 0: it is.
std::uint64_t since_ms_by(const GroupCounters& counters, NodeId node, std::string_view counter) {
  const auto its = std::ranges::find(counters.nodes, node, &NodeCounters::node);
  if (its == counters.nodes.end()) return 0;
  const auto at = std::ranges::find(its->values, counter, &CounterValue::name);
  return at == its->values.end() ? 0 : at->value;
}

Explanation explain_unwritten(const NodeReport& node, std::uint64_t since_ms) {
  const NodeId id = node.status.node;
  const std::string reason = "it cannot be written since then, and says what was so before";
  return {{{"kind", "unwritten"}, {"node", id}, {"process", node.status.process}, {"reason", reason}, {"at_ms", since_ms}},
          fmt::format("{} the status file of node {} cannot be written since then, and says what was so before, while "
                      "process {} goes on; fix: make space on its disk: it is written again within a second; the log there "
                      "has the cause",
                      time_text(since_ms), id, node.status.process)};
}

Explanation explain_full_disk(const NodeReport& node, std::uint64_t since_ms) {
  const NodeId id = node.status.node;
  const std::string& directory = node.status.beginning.journal;
  const std::string where = directory.empty() ? "below [PERS] file_path" : directory;
  const std::string reason =
      "the disk of its journal, " + where + ", is full, and deliveries of logged subgroups wait for space";
  return {{{"kind", "disk_full"}, {"node", id}, {"process", node.status.process}, {"reason", reason}, {"at_ms", since_ms}},
          fmt::format("{} the disk of node {}'s journal, {}, is full since then: deliveries of logged subgroups wait, and "
                      "with them all who send there; fix: make space on that disk, and it goes on by itself; what lies "
                      "before the last change of the view also goes by spindrift log trim SUBGROUP --before TIME --config "
                      "FILE --id {}",
                      time_text(since_ms), id, where, id)};
}

Explanation explain_absence(const NodeReport& node) {
  const NodeId id = node.status.node;
  const std::string reason = "it ended before it was in a view";
  return {{{"kind", "gone"}, {"node", id}, {"process", node.status.process}, {"reason", reason}},
          fmt::format("node {} is gone: process {} ended before it was in a view", id, node.status.process)};
}

/// The step that an end of that kind calls for, as a command where it is one.
std::string next_step(const MemberStatus::End& end, NodeId id) {
  if (end.kind == "left" || end.kind == "interrupted") return {};
  if (end.kind == "bad config" || end.kind == "refused")
    return fmt::format("; fix: spindrift doctor --config FILE --id {}", id);
  if (end.kind == "no majority") return "; fix: see to the others or the network, then start it again";
  return fmt::format("; fix: start it again, as by spindrift node --config FILE --id {}", id);
}

Explanation explain_end(const NodeReport& node, bool of_newest_founding) {
  const NodeId id = node.status.node;
  const MemberStatus::End& end = *node.status.end;
  return {{{"kind", "ended"}, {"node", id}, {"end", end.kind}, {"reason", end.reason}, {"at_ms", end.at_ms}},
          fmt::format("{} node {} ended{}: {}{}{}", time_text(end.at_ms), id,
                      of_newest_founding ? "" : ", of an earlier founding", end.kind,
                      end.reason.empty() ? "" : ": " + end.reason,
                      end.reason.find("; fix: ") == std::string::npos ? next_step(end, id) : "")};
}

/// Whether an end is worth a word: that of a process which left, or never was in the group, explains nothing.
bool ended_badly(const MemberStatus::Predecessor& before) {
  if (!before.end) return before.view.has_value();
  return before.end->kind != "left" && before.end->kind != "interrupted";
}

Explanation explain_predecessor(const NodeReport& node) {
  const NodeId id = node.status.node;
  const MemberStatus::Predecessor& before = *node.status.beginning.before;
  const MemberStatus::End death{"died", "it was gone without a word", before.began_ms};
  const MemberStatus::End end = before.end.value_or(death);
  return {{{"kind", "ended before"},
           {"node", id},
           {"process", before.process},
           {"end", end.kind},
           {"reason", end.reason},
           {"at_ms", end.at_ms}},
          fmt::format("{} node {} was process {} before, which {}: {}{}", time_text(end.at_ms), id, before.process,
                      before.end ? "ended" : "began then, and died", before.end ? end.kind + ": " : "", end.reason)};
}

/// A majority, or the applications of others, are waited for since then.
std::string changing_since(const MemberStatus& status) {
  return status.state == "active" ? "" : fmt::format(" (it is {} since {})", status.state, time_text(status.state_since_ms));
}

Explanation explain_blocked(const NodeReport& node, const MemberStatus::SubgroupEntry& subgroup) {
  const NodeId id = node.status.node;
  const bool inadequate = !subgroup.inadequate.empty();
  return {{{"kind", inadequate ? "inadequate" : "blocked"},
           {"node", id},
           {"subgroup", subgroup.name},
           {"reason", subgroup.blocked},
           {"at_ms", node.status.state_since_ms}},
          fmt::format("node {}: {} in subgroup {}: {}{}", id, inadequate ? "nobody can send" : "sends are not possible",
                      subgroup.name, subgroup.blocked, changing_since(node.status))};
}

Explanation explain_pause(const NodeReport& node, const MemberStatus::SubgroupEntry& subgroup) {
  const NodeId id = node.status.node;
  const MemberStatus::Pause& pause = *subgroup.paused;
  const std::uint64_t now_ms = group::wall_clock_ms();
  const std::uint64_t seconds = (now_ms - std::min(now_ms, pause.since_ms)) / 1000;
  return {{{"kind", "paused"},
           {"node", id},
           {"subgroup", subgroup.name},
           {"messages", pause.messages},
           {"reason", waiting_text(pause)},
           {"at_ms", pause.since_ms}},
          fmt::format("{} node {} has paused the handler of subgroup {} for {} s: {}, and in the end all who send there; "
                      "fix: let its program take what it has: of a topic a reader without room pauses it, and of tail the "
                      "reader of its output",
                      time_text(pause.since_ms), id, subgroup.name, seconds, waiting_text(pause))};
}

/// The keys in which others that run differ from a node that looks for its group.
std::string differences_of(const NodeReport& node, const GroupReport& report) {
  std::string text;
  for (const NodeReport& other : report.nodes) {
    const std::string differing = group::differences(node.status.beginning.agreed, other.status.beginning.agreed);
    if (other.lives() && !differing.empty()) text += fmt::format("; of node {}, {}", other.status.node, differing);
  }
  return text;
}

Explanation explain_looking(const NodeReport& node, const GroupReport& report) {
  const NodeId id = node.status.node;
  const std::string reason = node.status.waits.group + differences_of(node, report);
  const bool sees_members = node.status.waits.group.starts_with("a view: node");
  const bool for_the_last = !sees_members && node.status.waits.group.starts_with("a view: ");
  const bool for_a_view = node.status.waits.group.starts_with("a view");
  return {{{"kind", "looking"}, {"node", id}, {"reason", reason}, {"at_ms", node.status.beginning.at_ms}},
          fmt::format("{} node {} began to look for its group, and waits for {}; fix: {}",
                      time_text(node.status.beginning.at_ms), id, reason,
                      for_the_last ? "start those nodes, or, if they never come back, see what `spindrift group found` does"
                      : for_a_view ? "see that no other process is this node, and that the members of the group run"
                                 : "start what is missing with the same configuration, or see `spindrift doctor` there")};
}

/// A node's own words about what it waits for, or has otherwise than the group.
Explanation own_words(const char* kind, NodeId node, const std::string& reason, std::string text) {
  return {{{"kind", kind}, {"node", node}, {"reason", reason}}, std::move(text)};
}

/// Those of its view that have ended on this host, as which they were in it: a revival without them needs no --force.
std::vector<NodeId> ended_beside(const MemberStatus& status, const GroupReport& report) {
  std::vector<NodeId> ended;
  for (const MemberStatus::MemberEntry& member : status.members) {
    const auto is_over = [&](const NodeReport& each) {
      return each.status.node == member.node && each.status.incarnation == member.incarnation &&
             (each.condition == NodeReport::Condition::died || each.condition == NodeReport::Condition::ended);
    };
    if (std::ranges::any_of(report.nodes, is_over)) ended.push_back(member.node);
  }
  return ended;
}

Explanation explain_loss(const MemberStatus& status, const GroupReport& report) {
  std::string reason = status.waits.majority;
  if (const auto ended = ended_beside(status, report); !ended.empty()) {
    const char* const have = ended.size() == 1 ? "has" : "have";
    reason += fmt::format("; of its view node {} {} ended, as this host shows", listed(ended), have);
  }
  return own_words("stranded", status.node, reason, fmt::format("node {} waits: {}", status.node, reason));
}

Explanation explain_leave(NodeId node, const std::string& reason) {
  return own_words("leaving", node, reason,
                   fmt::format("node {} leaves, and waits: {}; fix: set on_delivery there, or let the handler return; "
                               "that of a command waits for the reader of its output",
                               node, reason));
}

Explanation explain_handler(NodeId node, const std::string& reason) {
  if (reason.starts_with(group::waits_for_disk)) {
    return own_words("disk", node, reason,
                     fmt::format("node {} holds up the group: {}; fix: see what holds up the disk of [PERS] file_path", node,
                                 reason));
  }
  return own_words("handler", node, reason,
                   fmt::format("node {} holds up the group: {}; fix: let it return, or give it HandlerThread::own", node,
                               reason));
}

Explanation explain_sends(NodeId node, const std::string& reason) {
  return own_words("slow", node, reason,
                   fmt::format("sends of node {} wait most of the time for {}; fix: let its handler return sooner, or let "
                               "it leave; while a state is saved, on its way or loaded: wait, and raise state_buffer_size "
                               "for the next time",
                               node, reason));
}

Explanation explain_sizes(NodeId node, const std::string& reason) {
  return own_words("sizes", node, reason,
                   fmt::format("the file of node {} has other sizes of rings than the group: {}; fix: write the group's "
                               "into its file, or set others by spindrift group change-subgroup; nothing, while members are "
                               "restarted one after another with a changed file and no command has set the group's",
                               node, reason));
}

Explanation explain_version(NodeId node, const std::string& reason) {
  return own_words("version", node, reason,
                   fmt::format("node {} speaks a later version of the protocol than the group: {}; fix: nothing, while "
                               "members are restarted one after another with a later release: the group goes on to what "
                               "all of them speak",
                               node, reason));
}

Explanation explain_drain(NodeId node) {
  const std::string reason = "it was asked to leave, and is not let in until that is undone";
  return own_words("drained", node, reason,
                   fmt::format("node {} is drained: {}; fix: spindrift group drain {} --undo, when it may come back", node,
                               reason, node));
}

}  // namespace

std::string time_text(std::uint64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::vector<Explanation> explanations_of(const GroupReport& report, const GroupCounters& counters) {
  const std::vector<Departure> departures = report.departures();
  std::vector<Explanation> explanations;
  for (const Departure& departure : departures) explanations.push_back(explain(departure, departures, report));
  for (const NodeId node : report.drained()) explanations.push_back(explain_drain(node));
  for (const NodeReport& node : report.nodes) {
    if (node.status.beginning.before && ended_badly(*node.status.beginning.before))
      explanations.push_back(explain_predecessor(node));
    if (node.condition == NodeReport::Condition::stopped) explanations.push_back(explain_stop(node, report));
    if (node.condition == NodeReport::Condition::gone) explanations.push_back(explain_absence(node));
    if (node.condition == NodeReport::Condition::died) explanations.push_back(explain_death(node, report, departures));
    if (node.condition == NodeReport::Condition::removed) explanations.push_back(explain_removal(node, report, departures));
    if (node.condition == NodeReport::Condition::ended)
      explanations.push_back(explain_end(node, report.of_newest_founding(node.status)));
    if (!node.lives()) continue;
    if (const std::uint64_t since_ms = since_ms_by(counters, node.status.node, "status.unwritten_since_ms"); since_ms != 0)
      explanations.push_back(explain_unwritten(node, since_ms));
    if (const std::uint64_t since_ms = since_ms_by(counters, node.status.node, "journal.full_since_ms"); since_ms != 0)
      explanations.push_back(explain_full_disk(node, since_ms));
    const MemberStatus& status = node.status;
    const MemberStatus::OfRoster& roster = status.roster;
    if (!status.waits.group.empty()) explanations.push_back(explain_looking(node, report));
    if (!status.waits.majority.empty()) explanations.push_back(explain_loss(status, report));
    if (!status.waits.leave.empty()) explanations.push_back(explain_leave(status.node, status.waits.leave));
    if (!status.waits.handler.empty()) explanations.push_back(explain_handler(status.node, status.waits.handler));
    if (!status.waits.sends.empty()) explanations.push_back(explain_sends(status.node, status.waits.sends));
    if (!roster.sizes_differ.empty()) explanations.push_back(explain_sizes(status.node, roster.sizes_differ));
    if (!roster.version_held.empty()) explanations.push_back(explain_version(status.node, roster.version_held));
    for (const MemberStatus::SubgroupEntry& subgroup : node.status.subgroups) {
      if (!subgroup.blocked.empty()) explanations.push_back(explain_blocked(node, subgroup));
      if (subgroup.paused) explanations.push_back(explain_pause(node, subgroup));
    }
  }
  std::ranges::stable_sort(explanations, {}, [](const Explanation& each) {
    return each.json.value("at_ms", std::numeric_limits<std::uint64_t>::max());
  });
  return explanations;
}

}  // namespace spindrift::tools
