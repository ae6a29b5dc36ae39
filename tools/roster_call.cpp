// Finding a member, and asking it.
#include "roster_call.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
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

namespace {

using Running = std::map<NodeId, std::vector<NodeId>>;  ///< nodes that run here, and the members that each knows

/// A group of which no process has ever run here has no directory, and is as absent as one whose processes have ended.
Running running_in(const GroupPlace& place) {
  Running running;
  std::error_code ignored;  // what cannot be looked at is told of by read_group
  if (std::filesystem::status(place.directory, ignored).type() == std::filesystem::file_type::not_found) return running;
  for (const NodeReport& each : value_or_throw(read_group(place.directory)).nodes) {
    if (each.condition != NodeReport::Condition::running || !each.status.view) continue;
    for (const auto& member : each.status.members) running[each.status.node].push_back(member.node);
  }
  return running;
}

Running::value_type choose(const RosterCallOptions& options, const Running& running,
                           const std::vector<RosterChange>& changes) {
  const auto stays = [&](const auto& each) {
    return std::ranges::none_of(changes, [&](const RosterChange& change) {
      const bool leaves = change.kind == RosterChange::Kind::remove || change.kind == RosterChange::Kind::drain;
      return leaves && change.node == each.first;
    });
  };
  if (options.through) {
    const NodeId through(*options.through);
    return {through, running.contains(through) ? running.at(through) : std::vector<NodeId>()};
  }
  const auto at = std::ranges::find_if(running, stays);
  return at != running.end() ? *at : *running.begin();
}

}  // namespace

Answered ask_group(const RosterCallOptions& options, const GroupPlace& place, const std::vector<RosterChange>& changes) {
  std::set<NodeId> gone;
  std::optional<Error> first;
  for (;;) {
    Running running = running_in(place);
    for (const NodeId node : gone) running.erase(node);
    if (running.empty() && first) throw Exception(*first);
    if (running.empty()) {
      throw Exception(Error(ErrorKind::member_lost, "no member of the group runs on this host")
                          .at(place.directory)
                          .fix("run this where a member runs: any one will do; or name the group by --config, --group or "
                               "--group-dir, if it is another one"));
    }
    auto [node, members] = choose(options, running, changes);
    const GuardedDirectory directory = opened(place);
    const group::RosterCall call{changes, std::chrono::milliseconds(options.timeout_ms)};
    auto roster = group::change_roster_through(directory, node, call);
    if (roster) return {node, std::move(members), *std::move(roster)};
    if (roster.error().kind() != ErrorKind::member_lost || options.through) throw Exception(std::move(roster).error());
    gone.insert(node);
    if (!first) first = std::move(roster).error();
  }
}

}  // namespace spindrift::tools
