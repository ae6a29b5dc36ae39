// Finding a member, and asking it.
#include "roster_call.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include <CLI/CLI.hpp>

#include <spindrift/core/guarded_directory.hpp>
#include <spindrift/group/roster_service.hpp>

#include "group_report.hpp"
#include "number_option.hpp"

namespace spindrift::tools {

void add_roster_call_options(CLI::App& command, RosterCallOptions& options) {
  add_group_options(command, options);
  command.add_option("--through", options.through, "Ask this node, which runs here; otherwise the lowest that does")
      ->check(number_from(0U, node_id_max))
      ->type_name("ID");
  command.add_option("--timeout", options.timeout_ms, "Wait so many milliseconds for the members to agree")
      ->check(number_from(1U, 600'000U))
      ->type_name("MS")
      ->capture_default_str();
}

Asked member_here(const RosterCallOptions& options, const GroupPlace& place, const std::vector<RosterChange>& changes) {
  std::map<NodeId, std::vector<NodeId>> running;
  for (const NodeReport& each : value_or_throw(read_group(place.directory)).nodes) {
    if (each.condition != NodeReport::Condition::running || !each.status.view) continue;
    for (const auto& member : each.status.members) running[each.status.node].push_back(member.node);
  }
  if (options.through) return {NodeId(*options.through), running[NodeId(*options.through)]};
  const auto stays = [&](const auto& each) {
    return std::ranges::none_of(changes, [&](const RosterChange& change) {
      const bool leaves = change.kind == RosterChange::Kind::remove || change.kind == RosterChange::Kind::drain;
      return leaves && change.node == each.first;
    });
  };
  const auto at = std::ranges::find_if(running, stays);
  if (at != running.end()) return {at->first, at->second};
  if (!running.empty()) return {running.begin()->first, running.begin()->second};
  throw Exception(Error(ErrorKind::member_lost, "no member of the group runs on this host")
                      .at(place.directory)
                      .fix("run this where a member runs: any one will do"));
}

Roster roster_with(const RosterCallOptions& options, const GroupPlace& place, NodeId through,
                   std::vector<RosterChange> changes) {
  const GuardedDirectory directory = opened(place);
  const group::RosterCall call{std::move(changes), std::chrono::milliseconds(options.timeout_ms)};
  return value_or_throw(group::change_roster_through(directory, through, call));
}

}  // namespace spindrift::tools
