// `spindrift group add|remove|move|roster`: which nodes may be in a group, through one of its members that runs here.
#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/core/ids_text.hpp>
#include <spindrift/group/roster_service.hpp>

#include "command_roster.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "group_option.hpp"
#include "group_report.hpp"
#include "json_output.hpp"
#include "number_option.hpp"
#include "table.hpp"

namespace spindrift::tools {
namespace {

using Json = nlohmann::json;

constexpr int roster_json_version = 1;

struct RosterOptions : GroupCommandOptions {
  std::vector<std::string> nodes;
  std::optional<std::uint32_t> through;
  std::uint32_t timeout_ms = 10'000;
};

/// "7@10.0.0.4:7400", or "7" where nodes have no addresses.
RosterChange change_of(RosterChange::Kind kind, const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return Exception(Error(ErrorKind::bad_argument, why).at(text).fix("give it as ID@HOST:PORT, or as ID alone over shared "
                                                                     "memory and to remove a node: 7@10.0.0.4:7400"));
  };
  const std::size_t at = text.find('@');
  const std::string digits = text.substr(0, at);
  std::uint32_t id = 0;
  if (!number_from(0U, node_id_max)(digits).empty()) throw wrong("not a node's id");
  static_cast<void>(std::from_chars(digits.data(), digits.data() + digits.size(), id));  // as just checked
  const std::string endpoint = at == std::string::npos ? std::string() : text.substr(at + 1);
  if (kind == RosterChange::Kind::remove && !endpoint.empty()) throw wrong("a node is removed by its id alone");
  if (at != std::string::npos && endpoint.empty()) throw wrong("no address behind the @");
  if (kind == RosterChange::Kind::move && endpoint.empty()) throw wrong("a node moves to an address");
  return {kind, NodeId(id), endpoint};
}

/// The lowest node of the group that runs here, unless the user says which; one that stays, if there is one, for who leaves
/// cannot tell what became of it.
NodeId member_here(const RosterOptions& options, const GroupPlace& place, const std::vector<RosterChange>& changes) {
  if (options.through) return NodeId(*options.through);
  std::set<NodeId> running;
  for (const NodeReport& each : value_or_throw(read_group(place.directory)).nodes) {
    if (each.condition == NodeReport::Condition::running && each.status.view) running.insert(each.status.node);
  }
  const auto stays = [&](NodeId node) {
    return std::ranges::find(changes, RosterChange{RosterChange::Kind::remove, node, {}}) == changes.end();
  };
  if (const auto at = std::ranges::find_if(running, stays); at != running.end()) return *at;
  if (!running.empty()) return *running.begin();
  throw Exception(Error(ErrorKind::member_lost, "no member of the group runs on this host")
                      .at(place.directory)
                      .fix("run this where a member runs: any one will do"));
}

int run(const RosterOptions& options, std::vector<RosterChange> changes) {
  const GroupPlace place = place_of(options);
  const NodeId through = member_here(options, place, changes);
  const std::size_t slash = place.directory.find_last_of('/');
  const GuardedDirectory directory =
      value_or_throw(GuardedDirectory::open(place.directory.substr(0, slash), place.directory.substr(slash + 1)));
  const group::RosterCall call{std::move(changes), std::chrono::milliseconds(options.timeout_ms)};
  Roster roster = value_or_throw(group::change_roster_through(directory, through, call));
  std::ranges::sort(roster.nodes, {}, &NodeAddress::node);
  if (options.json) {
    Json nodes = Json::array();
    for (const NodeAddress& each : roster.nodes) nodes.push_back({{"node", each.node}, {"address", each.endpoint}});
    print_document(versioned(roster_json_version, {{"edition", roster.edition}, {"nodes", std::move(nodes)}}));
    return number(ExitCode::success);
  }
  fmt::print("roster of edition {}, as node {} has it\n", roster.edition, through);
  TextTable table({TextTable::Align::right, TextTable::Align::left});
  table.add({"node", "address"});
  for (const NodeAddress& each : roster.nodes)
    table.add({std::to_string(each.node.value()), each.endpoint.empty() ? "-" : each.endpoint});
  table.print();
  return number(ExitCode::success);
}

template <RosterChange::Kind kind>
int change(const RosterOptions& options) {
  std::vector<RosterChange> changes;
  for (const std::string& node : options.nodes) changes.push_back(change_of(kind, node));
  return run(options, std::move(changes));
}

int show(const RosterOptions& options) { return run(options, {}); }

}  // namespace

void add_roster_commands(CLI::App& group, Work& chosen) {
  auto options = std::make_shared<RosterOptions>();
  const auto add = [&](const char* name, const char* description, int (*work)(const RosterOptions&)) {
    CLI::App* command = add_command(group, chosen, {name, description}, options, work);
    add_group_options(*command, *options);
    command->add_option("--through", options->through, "Ask this node, which runs here; otherwise the lowest that does")
        ->check(number_from(0U, node_id_max))
        ->type_name("ID");
    command->add_option("--timeout", options->timeout_ms, "Wait so many milliseconds for the members to agree")
        ->check(number_from(1U, 600'000U))
        ->type_name("MS")
        ->capture_default_str();
    add_json_option(*command, *options, "Print the roster as JSON");
    return command;
  };
  const auto nodes = [&](CLI::App* command, const char* what) {
    command->add_option("nodes", options->nodes, what)->required()->type_name("NODE");
  };
  nodes(add("add", "Let nodes into the group, which then may start", change<RosterChange::Kind::add>),
        "ID@HOST:PORT of each; over shared memory ID alone");
  nodes(add("remove", "Take nodes out of the group for good; members among them leave first, in order",
            change<RosterChange::Kind::remove>),
        "ID of each");
  nodes(add("move", "Call nodes at other addresses from now on", change<RosterChange::Kind::move>), "ID@HOST:PORT of each");
  add("roster", "The nodes that may be in the group, and their addresses", show);
}

}  // namespace spindrift::tools
