// `spindrift group add|remove|replace|move|drain|roster`: who may be in a group, through a member that runs here.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/ids_text.hpp>

#include "command_roster.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "roster_call.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

constexpr int roster_json_version = 1;

struct RosterOptions : RosterCallOptions {
  std::vector<std::string> nodes;
  std::string leaving, coming;  // of replace
  bool undo = false;            // of drain
};

/// The form in which a change of that kind names its node.
const char* form_of(RosterChange::Kind kind) {
  switch (kind) {
    case RosterChange::Kind::add: return "give it as ID@HOST:PORT, as in 7@10.0.0.4:7400, or over shared memory as ID alone";
    case RosterChange::Kind::move: return "give it as ID@HOST:PORT, as in 7@10.0.0.4:7400";
    default: return "give it as in 7";
  }
}

/// "7@10.0.0.4:7400" or "7=10.0.0.4:7400", or "7" where nodes have no addresses. Whether they have, and so whether one is
/// missing, is for the member that is asked to say.
RosterChange change_of(RosterChange::Kind kind, const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return Exception(Error(ErrorKind::bad_argument, why).at(text).fix(form_of(kind)));
  };
  const std::size_t at = text.find_first_of("@=");
  const std::string digits = text.substr(0, at);
  std::uint32_t id = 0;
  if (!number_from(0U, node_id_max)(digits).empty()) throw wrong("not a node's id");
  static_cast<void>(std::from_chars(digits.data(), digits.data() + digits.size(), id));  // as just checked
  const std::string endpoint = at == std::string::npos ? std::string() : text.substr(at + 1);
  const RosterChange change{kind, NodeId(id), endpoint};
  if (!change.has_endpoint() && at != std::string::npos) throw wrong("a node is removed or drained by its id alone");
  if (at != std::string::npos && endpoint.empty()) throw wrong(std::string("no address behind the ") + text[at]);
  return change;
}

int print(const RosterOptions& options, Answered answered) {
  Roster& roster = answered.roster;
  std::ranges::sort(roster.nodes, {}, &NodeAddress::node);
  if (options.json) {
    Json nodes = Json::array();
    for (const NodeAddress& each : roster.nodes)
      nodes.push_back({{"node", each.node}, {"address", each.endpoint}, {"drained", roster.is_drained(each.node)}});
    print_document(versioned(roster_json_version, {{"edition", roster.edition}, {"nodes", std::move(nodes)}}));
    return number(ExitCode::success);
  }
  fmt::print("roster of edition {}, as node {} has it\n", roster.edition, answered.node);
  TextTable table({TextTable::Align::right, TextTable::Align::left, TextTable::Align::left});
  table.add({"node", "address", "drained"});
  for (const NodeAddress& each : roster.nodes) {
    table.add({std::to_string(each.node.value()), each.endpoint.empty() ? "-" : each.endpoint,
               roster.is_drained(each.node) ? "yes" : "no"});
  }
  table.print();
  return number(ExitCode::success);
}

int run(const RosterOptions& options, const std::vector<RosterChange>& changes) {
  return print(options, ask_group(options, place_of(options), changes));
}

std::vector<RosterChange> changes_of(RosterChange::Kind kind, const RosterOptions& options) {
  std::vector<RosterChange> changes;
  for (const std::string& node : options.nodes) changes.push_back(change_of(kind, node));
  return changes;
}

template <RosterChange::Kind kind>
int change(const RosterOptions& options) {
  return run(options, changes_of(kind, options));
}

/// A removal that is made already succeeds, and so does one of a mistyped id: the roster after it looks as if it had been
/// meant.
int remove(const RosterOptions& options) {
  const std::vector<RosterChange> changes = changes_of(RosterChange::Kind::remove, options);
  const GroupPlace place = place_of(options);
  const Roster before = ask_group(options, place, {}).roster;
  for (const RosterChange& each : changes) {
    if (in_effect(before, each))
      fmt::print(stderr, "spindrift: node {} is not in the roster: there is nothing to remove\n", each.node);
  }
  return print(options, ask_group(options, place, changes));
}

int drain(const RosterOptions& options) {
  return options.undo ? change<RosterChange::Kind::undrain>(options) : change<RosterChange::Kind::drain>(options);
}

int show(const RosterOptions& options) { return run(options, {}); }

/// A replacement that is made already is none any more, and costs nothing; one that is made in half never was one.
void check_replacement(const Roster& roster, const RosterChange& leaves, const RosterChange& comes) {
  const auto wrong = [&](NodeId node, const std::string& what, const std::string& fix) {
    return Exception(Error(ErrorKind::bad_argument, fmt::format("node {} {}", node, what)).fix(fix));
  };
  if (leaves.node == comes.node) {
    throw wrong(leaves.node, "cannot be replaced by itself",
                "to call it at another address: spindrift group move; otherwise give the new node another id");
  }
  if (in_effect(roster, leaves) && in_effect(roster, comes)) return;
  if (in_effect(roster, leaves)) {
    throw wrong(leaves.node, "is not in the roster: there is nothing to replace",
                fmt::format("see who is: spindrift group roster; or let node {} in alone: spindrift group add", comes.node));
  }
  if (roster.contains(comes.node)) {
    throw wrong(
        comes.node, "is in the roster already",
        fmt::format("give the new node another id, or take out the other alone: spindrift group remove {}", leaves.node));
  }
}

int replace(const RosterOptions& options) {
  const RosterChange leaves = change_of(RosterChange::Kind::remove, options.leaving);
  const RosterChange comes = change_of(RosterChange::Kind::add, options.coming);
  const GroupPlace place = place_of(options);
  const Answered now = ask_group(options, place, {});
  check_replacement(now.roster, leaves, comes);
  View view;
  view.members = now.members;
  value_or_throw(check(now.roster, std::array{leaves, comes}, view));
  if (!options.json && now.roster.contains(leaves.node)) {
    const bool is_member = std::ranges::find(now.members, leaves.node) != now.members.end();
    fmt::print("node {} {}\n", leaves.node,
               is_member ? "is a member: it leaves first, in order" : "is no member now: it is struck from the roster");
    std::fflush(stdout);  // for who waits for the members to agree
  }
  return print(options, ask_group(options, place, {leaves, comes}));
}

}  // namespace

void add_roster_commands(CLI::App& group, Work& chosen) {
  auto options = std::make_shared<RosterOptions>();
  const auto add = [&](const char* name, const char* description, int (*work)(const RosterOptions&)) {
    CLI::App* command = add_command(group, chosen, {name, description}, options, work);
    add_roster_call_options(*command, *options);
    add_json_option(*command, *options, "Print the roster as JSON");
    return command;
  };
  const auto nodes = [&](CLI::App* command, const char* what) {
    command->add_option("nodes", options->nodes, what)->required()->type_name("NODE");
  };
  nodes(add("add", "Let nodes into the group, which then may start", change<RosterChange::Kind::add>),
        "ID@HOST:PORT of each; over shared memory ID alone");
  nodes(add("remove", "Take nodes out of the group for good; members among them leave first, in order", remove),
        "ID of each");
  CLI::App* const replace_command =
      add("replace", "Take a node out of the group and let another one in, by one change of the roster", replace);
  replace_command->add_option("old", options->leaving, "ID of the node that goes; a member leaves first, in order")
      ->required()
      ->type_name("OLD");
  replace_command->add_option("new", options->coming, "ID@HOST:PORT of the one that then may start; over shared memory ID")
      ->required()
      ->type_name("NEW");
  nodes(add("move", "Call nodes at other addresses from now on", change<RosterChange::Kind::move>), "ID@HOST:PORT of each");
  CLI::App* const drain_command =
      add("drain", "Have nodes leave, and let none of their processes in until that is undone", drain);
  nodes(drain_command, "ID of each");
  drain_command->add_flag("--undo", options->undo, "Let them in again, which then may start");
  add("roster", "The nodes that may be in the group, and their addresses", show);
}

}  // namespace spindrift::tools
