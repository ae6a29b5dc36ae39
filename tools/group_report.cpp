// Reading a directory of status files.
#include "group_report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <spindrift/core/runtime_path.hpp>

namespace spindrift::tools {
namespace {

NodeReport::Condition condition_of(const group::MemberStatus& status) {
  if (status.end) return NodeReport::Condition::ended;
  if (group::runs(status)) {
    return group::process_stopped(status.process) ? NodeReport::Condition::stopped : NodeReport::Condition::running;
  }
  return status.view ? NodeReport::Condition::died : NodeReport::Condition::gone;
}

/// The time of the newest view that it was in, by its own clock.
std::uint64_t last_view_ms(const group::MemberStatus& status) {
  return status.changes.empty() ? 0 : status.changes.back().at_ms;
}

/// Members that were removed after the view that they know.
void mark_removed(GroupReport& report) {
  const std::vector<Departure> departures = report.departures();
  for (NodeReport& node : report.nodes) {
    if (!node.lives() || !node.status.view) continue;
    const bool removed = std::any_of(departures.begin(), departures.end(), [&](const Departure& departure) {
      return departure.failed && departure.node == node.status.node && departure.view > *node.status.view;
    });
    if (removed) node.condition = NodeReport::Condition::removed;
  }
}

}  // namespace

std::string condition_text(const NodeReport& node) {
  switch (node.condition) {
    case NodeReport::Condition::running: return node.status.state;
    case NodeReport::Condition::stopped: return "stopped";
    case NodeReport::Condition::ended: return node.status.end->kind;
    case NodeReport::Condition::gone: return "gone";
    case NodeReport::Condition::died: return "died";
    case NodeReport::Condition::removed: return "removed";
  }
  return "unknown";
}

std::string waiting_text(const group::MemberStatus::Pause& pause) {
  if (pause.messages == 0) return "nothing waits yet";
  return fmt::format("up to {} message{} of each sender wait", pause.messages, pause.messages == 1 ? "" : "s");
}

Result<GroupReport> read_group(const std::string& directory) {
  GroupReport report;
  std::error_code error;
  const std::filesystem::path statuses = std::filesystem::path(directory) / status_directory;
  for (const auto& entry : std::filesystem::directory_iterator(statuses, error)) {
    if (entry.path().extension() != status_suffix) continue;
    auto status = group::read_status(entry.path().string());
    if (!status) {
      report.problems.push_back(std::move(status).error());
      continue;
    }
    NodeReport node{std::move(*status), {}};
    node.condition = condition_of(node.status);
    report.nodes.push_back(std::move(node));
  }
  if (error == std::errc::no_such_file_or_directory && std::filesystem::is_directory(directory)) error.clear();
  if (error) {
    return system_error("read the directory", error.value())
        .at(directory)
        .fix("start a node of the group, or name its directory with --group-dir, or its configuration with --config");
  }
  std::sort(report.nodes.begin(), report.nodes.end(),
            [](const NodeReport& a, const NodeReport& b) { return a.status.node < b.status.node; });
  mark_removed(report);
  std::sort(report.problems.begin(), report.problems.end(),
            [](const Error& a, const Error& b) { return a.to_string() < b.to_string(); });
  return report;
}

bool GroupReport::partition_safety() const {
  return std::all_of(nodes.begin(), nodes.end(), [](const NodeReport& node) { return node.status.partition_safety; });
}

// The views of a founding are all later than those of one before it, whose numbers may be greater.
const group::MemberStatus* GroupReport::newest() const {
  const auto runs = [](const NodeReport& node) { return node.condition == NodeReport::Condition::running; };
  const auto later = [&](const NodeReport& a, const NodeReport& b) {
    return std::pair(runs(a), last_view_ms(a.status)) > std::pair(runs(b), last_view_ms(b.status));
  };
  const NodeReport* last = nullptr;
  for (const NodeReport& node : nodes) {
    if (node.status.view && (last == nullptr || later(node, *last))) last = &node;
  }
  if (last == nullptr) return nullptr;
  const auto rank = [&](const NodeReport& node) { return std::pair(runs(node), *node.status.view); };
  const NodeReport* best = last;
  for (const NodeReport* node : founding_of(*last)) {
    if (rank(*node) > rank(*best)) best = node;
  }
  return &best->status;
}

bool GroupReport::newest_is_stranded() const {
  const group::MemberStatus* const status = newest();
  return std::ranges::any_of(nodes, [&](const NodeReport& each) { return &each.status == status && each.stranded(); });
}

std::vector<NodeId> GroupReport::drained() const {
  const group::MemberStatus* const status = newest();
  const auto is_it = [status](const NodeReport& node) { return &node.status == status && node.lives(); };
  return std::any_of(nodes.begin(), nodes.end(), is_it) ? status->roster.drained : std::vector<NodeId>();
}

// A process is in one founding all its life, so who has a member with the same incarnation is of the same one.
std::vector<const NodeReport*> GroupReport::founding_of(const NodeReport& first) const {
  std::set<std::pair<NodeId, std::uint64_t>> known{{first.status.node, first.status.incarnation}};
  std::vector<const NodeReport*> left;
  for (const NodeReport& node : nodes) {
    if (node.status.view) left.push_back(&node);
  }
  const auto shares = [&](const NodeReport* each) {
    const group::MemberStatus& status = each->status;
    return known.contains({status.node, status.incarnation}) ||
           std::any_of(status.members.begin(), status.members.end(),
                       [&](const auto& member) { return known.contains({member.node, member.incarnation}); });
  };
  std::vector<const NodeReport*> founding;
  for (auto found = std::find_if(left.begin(), left.end(), shares); found != left.end();
       found = std::find_if(left.begin(), left.end(), shares)) {
    known.emplace((*found)->status.node, (*found)->status.incarnation);
    for (const auto& member : (*found)->status.members) known.emplace(member.node, member.incarnation);
    founding.push_back(*found);
    left.erase(found);
  }
  return founding;
}

bool GroupReport::of_newest_founding(const group::MemberStatus& status) const {
  const group::MemberStatus* const first = newest();
  if (first == nullptr || !status.view) return true;
  const auto owner =
      std::find_if(nodes.begin(), nodes.end(), [&](const NodeReport& each) { return &each.status == first; });
  const std::vector<const NodeReport*> founding = founding_of(*owner);
  return std::any_of(founding.begin(), founding.end(), [&](const NodeReport* each) {
    return each->status.node == status.node && each->status.incarnation == status.incarnation;
  });
}

std::vector<Departure> GroupReport::departures() const {
  std::map<std::tuple<ViewId, NodeId, bool>, Departure> found;
  for (const NodeReport& node : nodes) {
    if (!of_newest_founding(node.status)) continue;
    for (const group::MemberStatus::Change& change : node.status.changes) {
      const auto note = [&](NodeId who, bool failed, const std::string& reason) -> Departure& {
        Departure& departure = found[{change.view, who, failed}];
        if (departure.witnesses.empty()) departure = {change.view, who, failed, reason, {}, {}, change.at_ms};
        departure.witnesses.push_back(node.status.node);
        departure.at_ms = std::min(departure.at_ms, change.at_ms);
        return departure;
      };
      for (const NodeId who : change.left) note(who, false, {});
      for (const views::Removal& each : change.failed)
        note(each.node, true, each.reason).testimonies.push_back({node.status.node, each.reason, each.by});
    }
  }
  std::vector<Departure> departures;
  for (auto& [key, departure] : found) departures.push_back(std::move(departure));
  return departures;
}

std::uint64_t GroupReport::since_ms(const group::MemberStatus::MemberEntry& member) const {
  std::uint64_t since = member.since_ms;
  for (const NodeReport& node : nodes) {
    for (const group::MemberStatus::MemberEntry& known : node.status.members) {
      if (known.node == member.node && known.incarnation == member.incarnation) since = std::min(since, known.since_ms);
    }
  }
  return since;
}

}  // namespace spindrift::tools
