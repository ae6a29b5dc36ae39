// `spindrift group`: the state of a group of this host, from the status files of its nodes, running or not.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>

#include "command_forget.hpp"
#include "command_roster.hpp"
#include "commands.hpp"
#include "escaped.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "group_report.hpp"
#include "group_why.hpp"
#include "json_output.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using group::MemberStatus;
using Json = nlohmann::json;

GroupReport report_in(const std::string& directory) {
  GroupReport report = value_or_throw(read_group(directory));
  if (report.nodes.empty() && report.problems.empty()) {
    throw Exception(
        Error(ErrorKind::resource, "no node has left a status here").at(directory).fix("start a node of the group"));
  }
  return report;
}

/// Ends every line of a group that may have split, so that an operator who greps one line sees it.
std::string warning(const GroupReport& report) { return report.partition_safety() ? "" : "  (NO PARTITION SAFETY)"; }

int code_of(const GroupReport& report) {
  return number(report.problems.empty() ? ExitCode::success : ExitCode::failure);
}

int finish(const GroupReport& report) {
  for (const Error& problem : report.problems) fmt::print(stderr, "spindrift: {}\n", harmless(problem.to_string()));
  return code_of(report);
}

/// The three commands share what they print but for one field.
constexpr int group_json_version = 1;

int finish_json(const GroupReport& report, const char* field, Json value) {
  print_document(versioned(group_json_version, {{"partition_safety", report.partition_safety()},
                                                {"problems", json_of(report.problems)},
                                                {field, std::move(value)}}));
  return code_of(report);
}

// ---- status

bool contains(const std::vector<NodeId>& nodes, NodeId node) { return std::ranges::find(nodes, node) != nodes.end(); }

Json paused_json(const std::optional<MemberStatus::Pause>& pause) {
  if (!pause) return {};
  return {{"since_ms", pause->since_ms}, {"messages", pause->messages}};
}

std::string paused_text(const std::optional<MemberStatus::Pause>& pause) {
  if (!pause) return {};
  return fmt::format("; its handler is paused since {}: {}", time_text(pause->since_ms), waiting_text(*pause));
}

Json status_json(const NodeReport& node, bool drained) {
  Json json{{"node", node.status.node},
            {"condition", condition_text(node)},
            {"drained", drained},
            {"majority_lost", node.stranded()},
            {"process", node.status.process},
            {"incarnation", identity_text(node.status.incarnation)},
            {"protocol", node.status.view ? Json(node.status.roster.version) : Json()},
            {"view", node.status.view ? Json(node.status.view->value()) : Json()},
            {"subgroups", Json::array()}};
  for (const MemberStatus::SubgroupEntry& subgroup : node.status.subgroups) {
    json["subgroups"].push_back({{"name", subgroup.name},
                                 {"storage", subgroup.storage == SubgroupStorage::logged ? "logged" : "memory"},
                                 {"members", subgroup.members},
                                 {"senders", subgroup.senders},
                                 {"inadequate", subgroup.inadequate},
                                 {"blocked", subgroup.blocked},
                                 {"paused", paused_json(subgroup.paused)}});
  }
  return json;
}

int print_status(const GroupCommandOptions& options) {
  const GroupReport report = report_in(place_of(options).directory);
  const std::vector<NodeId> drained = report.drained();
  if (options.json) {
    Json nodes = Json::array();
    for (const NodeReport& node : report.nodes) nodes.push_back(status_json(node, contains(drained, node.status.node)));
    return finish_json(report, "nodes", std::move(nodes));
  }
  TextTable table({TextTable::Align::left});
  for (const NodeReport& node : report.nodes) {
    const std::string view = node.status.view ? fmt::format("view {}", node.status.view->value()) : "in no view yet";
    table.add({fmt::format("node {}: {}, process {}, {}{}{}{}", node.status.node, condition_text(node), node.status.process,
                           view, node.stranded() ? " without its majority" : "",
                           contains(drained, node.status.node) ? ", drained" : "", warning(report))});
    if (!node.lives()) continue;
    for (const MemberStatus::SubgroupEntry& subgroup : node.status.subgroups) {
      const std::string state = subgroup.inadequate.empty()
                                    ? fmt::format("adequate, members {}, senders {}", listed(subgroup.members),
                                                  listed(subgroup.senders))
                                    : "inadequate: " + subgroup.inadequate;
      table.add({fmt::format("  subgroup {}: {}{}{}", subgroup.name, state, paused_text(subgroup.paused), warning(report))});
    }
  }
  table.print();
  return finish(report);
}

// ---- members

int print_members(const GroupCommandOptions& options) {
  const GroupReport report = report_in(place_of(options).directory);
  const MemberStatus* const newest = report.newest();
  Json members = Json::array();
  TextTable table({TextTable::Align::right, TextTable::Align::left, TextTable::Align::left});
  table.add({"node", "incarnation", "since"});
  const auto known = newest == nullptr ? std::vector<MemberStatus::MemberEntry>() : newest->members;
  for (const MemberStatus::MemberEntry& member : known) {
    const std::uint64_t since_ms = report.since_ms(member);
    if (options.json) {
      members.push_back(
          {{"node", member.node}, {"incarnation", identity_text(member.incarnation)}, {"since_ms", since_ms}});
    } else {
      table.add({std::to_string(member.node.value()), identity_text(member.incarnation),
                 time_text(since_ms) + warning(report)});
    }
  }
  if (options.json) {
    const Json view = newest == nullptr ? Json() : Json(newest->view->value());
    return finish_json(
        report, "newest",
        {{"view", view}, {"majority_lost", report.newest_is_stranded()}, {"members", std::move(members)}});
  }
  if (newest == nullptr) {
    fmt::print("no node has been in a view yet{}\n", warning(report));
  } else {
    const bool lives = std::any_of(report.nodes.begin(), report.nodes.end(), [](const NodeReport& each) {
      return each.lives() && each.status.view;
    });
    fmt::print("view {}, as node {} has it{}{}{}\n", newest->view->value(), newest->node,
               report.newest_is_stranded() ? ": its majority is lost, as far as that node knows" : "",
               lives ? "" : "; none of its members runs on this host any more", warning(report));
    table.print();
  }
  return finish(report);
}

int print_why(const GroupCommandOptions& options) {
  const std::string directory = place_of(options).directory;
  GroupReport report = report_in(directory);
  const GroupCounters counters = value_or_throw(read_group_counters(directory));
  report.problems.insert(report.problems.end(), counters.problems.begin(), counters.problems.end());
  const std::vector<Explanation> explanations = explanations_of(report, counters);
  if (options.json) {
    Json list = Json::array();
    for (const Explanation& explanation : explanations) list.push_back(explanation.json);
    return finish_json(report, "findings", std::move(list));
  }
  TextTable table({TextTable::Align::left});
  for (const Explanation& explanation : explanations) table.add({explanation.text + warning(report)});
  table.print();
  if (explanations.empty()) fmt::print("nothing to explain: nobody has gone, and every subgroup works{}\n", warning(report));
  return finish(report);
}

}  // namespace

void add_group_command(CLI::App& app, Work& chosen) {
  auto options = std::make_shared<GroupCommandOptions>();
  CLI::App* group = app.add_subcommand(
      "group", "Show the state of a group of this host, running or not, and change which nodes may be in it");
  group->require_subcommand(1);
  group->footer(
      "status, members and why read the status files that every node keeps in <runtime_directory>/<group_name>, why the "
      "counters, too, and ask no process; forget deletes what a node that does not run remembers. The others ask a member "
      "that runs here; all members agree on what they change.\n\n"
      "Examples:\n  spindrift group status --config derecho.cfg\n"
      "  spindrift group add 3@10.0.0.4:7400 --config derecho.cfg\n"
      "  spindrift group why --group-dir /dev/shm/spindrift-0/spindrift\n\n" +
      exit_codes_text());
  const auto add = [&](const char* name, const char* description, int (*run)(const GroupCommandOptions&)) {
    CLI::App* command = add_command(*group, chosen, {name, description}, options, run);
    add_group_options(*command, *options);
    add_json_option(*command, *options);
  };
  add("status", "Every node: its state, view and subgroups", print_status);
  add("members", "The members of the newest view", print_members);
  add_roster_commands(*group, chosen);
  add_created_subgroup_commands(*group, chosen);
  add_revive_command(*group, chosen);
  add_found_command(*group, chosen);
  add_forget_command(*group, chosen);
  add("why", "Why nodes are gone or do not get away, subgroups are inadequate, or sends not possible", print_why);
}

}  // namespace spindrift::tools
