// Reading a directory of status files.
#include "group_report.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

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

const group::MemberStatus* GroupReport::newest() const {
  const auto rank = [](const NodeReport& node) {
    return std::tuple(node.condition == NodeReport::Condition::running, *node.status.view);
  };
  const NodeReport* best = nullptr;
  for (const NodeReport& node : nodes) {
    if (node.status.view && (best == nullptr || rank(node) > rank(*best))) best = &node;
  }
  return best == nullptr ? nullptr : &best->status;
}

// A process is in one founding all its life, so who has a member with the same incarnation is of the same one.
bool GroupReport::of_newest_founding(const group::MemberStatus& status) const {
  const group::MemberStatus* const first = newest();
  if (first == nullptr || !status.view) return true;
  std::set<std::pair<NodeId, std::uint64_t>> known;
  std::vector<const group::MemberStatus*> left;
  for (const NodeReport& node : nodes) {
    if (node.status.view) left.push_back(&node.status);
  }
  const auto shares = [&](const group::MemberStatus* each) {
    return each == first || known.contains({each->node, each->incarnation}) ||
           std::any_of(each->members.begin(), each->members.end(),
                       [&](const auto& member) { return known.contains({member.node, member.incarnation}); });
  };
  for (bool more = true; more;) {
    const auto found = std::find_if(left.begin(), left.end(), shares);
    more = found != left.end();
    if (!more) break;
    if (*found == &status || ((*found)->node == status.node && (*found)->incarnation == status.incarnation)) return true;
    known.emplace((*found)->node, (*found)->incarnation);
    for (const auto& member : (*found)->members) known.emplace(member.node, member.incarnation);
    left.erase(found);
  }
  return false;
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
